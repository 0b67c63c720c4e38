import { z } from 'zod';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { warned } from '../../resources/files/handlers.ts';
import { File, presentFile } from '../../resources/files/shape.ts';
import { UNTRUSTED_OF_FILE } from '../fields.ts';
import { toolsOf } from '../tool.ts';
import { uploadOfText } from './request-media-upload.ts';

export const finalizeMediaUploadTool = toolsOf('media')({
  name: 'finalize_media_upload',
  title: 'Make a file of an upload',
  description: 'Puts an uploaded file into the library. Once: a second call answers the same file.',
  surfaces: ['media-mcp'],
  scope: 'mcp:posts:write',
  permission: 'media:create',
  input: z.strictObject({ uploadId: z.string().max(1_000).describe('`uploadId` of `request_media_upload`.') }),
  output: File,
  untrusted: UNTRUSTED_OF_FILE,
  async run({ input, ...call }) {
    const { uploads } = call.rooms.media;
    const { orgId } = call.principal;
    const name = uploadOfText(input.uploadId);
    const parts = await uploads.parts(orgId, name).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return []; // it is a file already, or unknown
      throw error;
    });
    const named = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
    return presentFile(warned(await uploads.complete(orgId, name, named), call));
  },
});
