import { z } from 'zod';
import { begin, fileOf, prompt } from '../../resources/files/job.handlers.ts';
import { presentMade } from '../../resources/files/job.shape.ts';
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
  output: z.strictObject({
    id: z.string().optional(),
    path: z.string().optional(),
    jobId: z.string().optional().describe('The job takes longer: ask `media_job_status`.'),
  }),
  async run({ input: { prompt: text }, ...call }) {
    const begun = await begin(call, { operation: 'image', request: { prompt: text, sources: [] } });
    return 'jobId' in begun ? { jobId: begun.jobId } : presentMade(fileOf(begun.shown));
  },
});
