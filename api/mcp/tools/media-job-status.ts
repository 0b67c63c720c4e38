import { z } from 'zod';
import { showJob } from '../../resources/files/job.handlers.ts';
import { Job } from '../../resources/files/job.shape.ts';
import { jobId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const mediaJobStatusTool = toolsOf(
  'mediaJobs',
  'media',
)({
  name: 'media_job_status',
  title: 'Get a media job',
  description:
    'Answers how a job goes on that makes or changes a picture, a video or a sound, and its files once it is done.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:read',
  permission: 'ai:read',
  input: z.strictObject({ jobId }),
  output: Job,
  untrusted: ['/error'],
  run: ({ input, ...call }) => showJob(call, input.jobId),
});
