import { z } from 'zod';
import { begin, prompt } from '../../resources/files/job.handlers.ts';
import { Made, presentBegun } from '../made.ts';
import { toolsOf } from '../tool.ts';

export const generateImageTool = toolsOf('mediaJobs')({
  name: 'generate_image',
  alias: 'generateImageTool',
  title: 'Create a picture',
  description:
    'Makes a picture of a text and puts it into the library. `path` of the answer is what `attachments` of posts take; a long job answers `jobId`.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:posts:write',
  permission: 'ai:create',
  input: z.strictObject({ prompt: prompt.describe('What the picture shows.') }),
  output: Made,
  run: async ({ input, ...call }) =>
    presentBegun(await begin(call, { operation: 'image', request: { prompt: input.prompt, sources: [] } })),
});
