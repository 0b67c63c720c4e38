import { z } from 'zod';
import { warned } from '../../resources/files/handlers.ts';
import { MadeFile, presentMade } from '../../resources/files/job.shape.ts';
import { toolsOf } from '../tool.ts';

export const uploadFromUrlTool = toolsOf('media')({
  name: 'upload_from_url',
  alias: 'uploadFromUrlTool',
  title: 'Upload a file from a public address',
  description:
    'Takes a picture, video, sound or PDF from a public address into the library. `path` of the answer is what `attachments` of posts take.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:posts:write',
  permission: 'media:create',
  input: z.strictObject({ url: z.string().min(1).max(2_048).describe('Public https address of the file.') }),
  output: MadeFile,
  async run({ input: { url }, ...call }) {
    const { orgId, userId } = call.principal;
    return presentMade(warned(await call.rooms.media.uploadFromUrl(orgId, userId, { url }), call));
  },
});
