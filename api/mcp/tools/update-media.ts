import { z } from 'zod';
import { describeFile, line } from '../../resources/files/handlers.ts';
import { File, presentFile } from '../../resources/files/shape.ts';
import { fileId, UNTRUSTED_OF_FILE } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const updateMediaTool = toolsOf('media')({
  name: 'update_media',
  title: 'Change the details of a file',
  description: 'Changes name, alternative text or folder of a file; what is not given stays.',
  surfaces: ['media-mcp'],
  scope: 'mcp:posts:write',
  permission: 'media:update',
  input: z.strictObject({
    id: fileId,
    alt: z.string().max(5_000).optional().describe('The alternative text.'),
    name: line(255).pipe(z.string().min(1)).optional().describe('The name.'),
    folder: line(255).optional().describe('The folder; an empty text takes the file out of its folder.'),
  }),
  output: File,
  untrusted: UNTRUSTED_OF_FILE,
  run: async ({ input, ...call }) => presentFile(await describeFile(call, input)),
});
