import { z } from 'zod';
import { invalidField, notFound } from '../../../src/platform/kernel/index.ts';
import { line } from '../../resources/files/handlers.ts';
import { toolsOf } from '../tool.ts';

/** The two parts by which the library knows an upload. */
interface UploadName {
  uploadId: string;
  key: string;
}
/** One text for both parts. */
const textOfUpload = ({ uploadId, key }: UploadName): string => `${uploadId}:${key}`;
export function uploadOfText(text: string): UploadName {
  const [, uploadId, key] = /^([^:]+):(.+)$/.exec(text) ?? [];
  if (uploadId === undefined || key === undefined) throw notFound('Upload not found');
  return { uploadId, key };
}

/** As long as the address of a part is good. */
const HOUR = 3_600_000;
/** What is sent in one request begins anew when that breaks. */
const MOST_BYTES = 8 * 1_048_576;

export const requestMediaUploadTool = toolsOf(
  'clock',
  'media',
)({
  name: 'request_media_upload',
  title: 'Get an address to upload a file to',
  description:
    'Answers an address that takes the bytes of one file by PUT, with the `headers` that are named. Call `finalize_media_upload` afterwards.',
  surfaces: ['media-mcp'],
  scope: 'mcp:posts:write',
  permission: 'media:create',
  input: z.strictObject({
    name: line(255).pipe(z.string().min(1)).describe('Name of the file, such as `photo.jpg`.'),
    size: z.int().min(1).describe('Its bytes.'),
    type: z.string().max(255).describe('Its media type, such as `image/jpeg`.'),
  }),
  output: z.strictObject({
    uploadId: z.string(),
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    expiresAt: z.string(),
  }),
  async run({ rooms: { media, clock }, principal: { orgId, userId }, input }) {
    if (input.size > MOST_BYTES)
      throw invalidField(
        'size',
        `at most ${MOST_BYTES} bytes are taken at one address: use \`upload_from_url\``,
        'too_big',
      );
    const { partSize: _, ...name } = await media.uploads.begin(orgId, userId, input);
    const expiresAt = new Date(clock.now().getTime() + HOUR).toISOString();
    const { url, headers } = await media.uploads.sign(orgId, name, 1, true);
    return { uploadId: textOfUpload(name), url, headers: { ...headers }, expiresAt };
  },
});
