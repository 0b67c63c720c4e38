import { z } from 'zod';
import { uploadWhole } from '../kit/protocols/upload/parts.ts';
import type { Connection, Media } from './_contract.ts';
import { fitted } from './_files.ts';
import { answered } from './_vk-wall.ts';

export const PHOTO = { maxBytes: 50_000_000, types: ['image/jpeg', 'image/png', 'image/gif'] };
/** Width and height of a photo together. */
const PHOTO_SIDES = 14_000;
type Uploading = Pick<Connection, 'http' | 'clock' | 'timeoutMs'>;
const UploadServer = answered(z.object({ upload_url: z.url() }));

/** Uploads a file of a post; answers its name as an attachment. */
export const attach = (call: Uploading, file: Media): Promise<string> =>
  file.kind === 'video' ? uploadVideo(call, file) : uploadPhoto(call, file);

async function uploadPhoto(call: Uploading, photo: Media): Promise<string> {
  const { response } = await call.http.get('/photos.getWallUploadServer', UploadServer);
  const Uploaded = z.object({ server: z.int(), photo: z.string(), hash: z.string() });
  const file = await fitted(photo, { ...PHOTO, maxPixels: pixelsOf(photo) });
  const form = await uploadWhole(call, { method: 'post', path: response.upload_url, field: 'photo' }, file, Uploaded);
  const Photos = answered(z.tuple([z.object({ id: z.int(), owner_id: z.int() })]));
  const saved = await call.http.post('/photos.saveWallPhoto', Photos, {
    form: { ...form, server: String(form.server), ...(photo.alt && { caption: photo.alt }) },
  });
  const [{ id, owner_id }] = saved.response;
  return `photo${owner_id}_${id}`;
}

/** The pixels of a photo whose sides together are as long as they may be, in its shape. */
const pixelsOf = ({ width, height }: Media): number | undefined =>
  width && height && Math.floor(width * height * (PHOTO_SIDES / (width + height)) ** 2);

async function uploadVideo(call: Uploading, video: Media): Promise<string> {
  const Place = z.object({ upload_url: z.url(), video_id: z.int(), owner_id: z.int() });
  const { response } = await call.http.post('/video.save', answered(Place), {
    form: { name: video.name, wallpost: '0' },
  });
  const { upload_url: path, video_id, owner_id } = response;
  await uploadWhole(call, { method: 'post', path, field: 'video_file' }, video, z.unknown());
  return `video${owner_id}_${video_id}`;
}
