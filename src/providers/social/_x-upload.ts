import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { type PartsProtocol, uploadParts } from '../kit/protocols/upload/parts.ts';
import type { UploadLine } from '../kit/protocols/upload/steps.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Handle, Media, Prepared } from './_contract.ts';
import { fitted } from './_files.ts';

const STILLS = ['image/jpeg', 'image/png', 'image/webp'];
export const IMAGE_BYTES = 5_000_000;
export const GIF_BYTES = 15_000_000;
/** A part may have 5 MB, and a file 1,000 parts. */
const PART_BYTES = 4 * 1024 * 1024;
const PARTS_A_STEP = 4;
const ALT_CHARACTERS = 1_000;
const CHECK_SECONDS = 2;

const Begun = z.object({ data: z.object({ id: z.string() }) }).transform(({ data }) => data.id);
const State = z.object({
  data: z.object({
    processing_info: z
      .object({
        state: z.string(),
        check_after_secs: z.number().nullish(),
        error: z.object({ message: z.string().nullish() }).nullish(),
      })
      .nullish(),
  }),
});

/**
 * `ids`: those of the files that are ready, in order. `upload`: the parts of the next one. `working`: the id of the next
 * one, while X works on it. `draft`: the id of an article that is not public.
 */
export const Saved = z
  .object({
    ids: z.array(z.string()),
    upload: z.unknown().optional(),
    working: z.string().optional(),
    draft: z.string().optional(),
  })
  .catch({ ids: [] });
type Saved = z.output<typeof Saved>;

const parts = (http: Http, { contentType, size }: Media): PartsProtocol<string> => ({
  partBytes: PART_BYTES,
  begin: () =>
    http.post('/media/upload/initialize', Begun, {
      json: {
        media_type: contentType,
        media_category: contentType === 'image/gif' ? 'tweet_gif' : 'tweet_video',
        total_bytes: size,
      },
    }),
  handle: z.string(),
  send: (id, { index, body }) => ({
    method: 'post',
    path: `/media/upload/${id}/append`,
    multipart: { segment_index: String(index), media: { ...body, name: 'media' } },
  }),
  mark: z.unknown().transform(() => ''),
});

/** One step of the upload of the next file: a picture in one request, others in parts, which X converts after. */
export async function uploadStep(
  { save, ...line }: UploadLine & Pick<Handle, 'save'>,
  file: Media,
  state: Saved,
): Promise<Prepared> {
  const { http } = line;
  const { ids, upload, working } = state;
  async function done(id: string): Promise<Prepared> {
    if (file.kind === 'image' && file.alt !== '')
      await http.post('/media/metadata', z.unknown(), {
        json: { id, metadata: { alt_text: { text: file.alt.slice(0, ALT_CHARACTERS) } } },
      });
    await save({ ids: [...ids, id] });
    return { againMs: 0 };
  }
  async function read(id: string, { data: { processing_info: info } }: z.output<typeof State>): Promise<Prepared> {
    if (info?.state === 'failed')
      throw refused('rejected', `X cannot use ${file.name}: ${info.error?.message ?? 'it gives no reason'}`);
    if (!info || info.state === 'succeeded') return done(id);
    await save({ ids, working: id });
    return { againMs: (info.check_after_secs ?? CHECK_SECONDS) * 1_000 };
  }

  if (working !== undefined)
    return read(working, await http.get('/media/upload', State, { query: { command: 'STATUS', media_id: working } }));
  if (file.kind === 'image' && file.contentType !== 'image/gif') {
    const media = await fitted(file, { maxBytes: IMAGE_BYTES, types: STILLS });
    return done(await http.post('/media/upload', Begun, { multipart: { media_category: 'tweet_image', media } }));
  }
  const sent = await uploadParts(line, parts(http, file), file, {
    saved: upload,
    save: (handle) => save({ ids, upload: handle }),
    parts: PARTS_A_STEP,
  });
  if (!sent.complete) return { againMs: 0 };
  return read(sent.upload, await http.post(`/media/upload/${sent.upload}/finalize`, State));
}
