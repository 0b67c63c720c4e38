import { z } from 'zod';
import { File, presentFile } from '../../resources/files/shape.ts';
import { fileId, UNTRUSTED_OF_FILE } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const getMediaTool = toolsOf('media')({
  name: 'get_media',
  title: 'Get a file',
  description: 'Answers a file of the library with its alternative text.',
  readAt: { template: 'rookery://media/{id}', name: 'file', title: 'File', description: 'A file of the library.' },
  surfaces: ['media-mcp'],
  scope: 'mcp:read',
  permission: 'media:read',
  input: z.strictObject({ id: fileId }),
  output: File,
  untrusted: UNTRUSTED_OF_FILE,
  run: async ({ rooms, principal, input }) => presentFile(await rooms.media.get(principal.orgId, input.id)),
});
