import { z } from 'zod';
import { FITS, PICTURE_TYPES, TRANSFORMS } from '../../../src/library/media/index.ts';
import { transformFile } from '../../resources/files/transform.handlers.ts';
import { fileId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

const pixels = z.number().optional();
const seconds = z.number().optional();

export const transformMediaTool = toolsOf('media')({
  name: 'transform_media',
  title: 'Change a picture or trim a video',
  description:
    'Makes a new file of one of the library, which stays as it is. Ask `media_job_status` for the new file. Pictures are resized, cropped or converted; videos and sounds are trimmed.',
  surfaces: ['media-mcp'],
  scope: 'mcp:posts:write',
  permission: 'media:create',
  input: z.strictObject({
    id: fileId,
    operation: z.enum(TRANSFORMS).describe('What is done with the file.'),
    params: z
      .strictObject({
        width: pixels.describe('resize, crop: pixels.'),
        height: pixels.describe('resize, crop: pixels.'),
        fit: z.enum(FITS).optional().describe('resize: how it fits into width and height, `inside` unless said.'),
        left: pixels.describe('crop: pixels from the left.'),
        top: pixels.describe('crop: pixels from the top.'),
        type: z.enum(PICTURE_TYPES).optional().describe('convert: the new type.'),
        from: seconds.describe('trim: seconds from the beginning, 0 unless said.'),
        to: seconds.describe('trim: seconds from the beginning.'),
      })
      .describe('Those of the operation, and no others.'),
  }),
  output: z.strictObject({ jobId: z.string().describe('Ask `media_job_status`.') }),
  run: async ({ input: { id, ...wish }, ...call }) => ({ jobId: (await transformFile(call, id, wish)).job.id }),
});
