import { z } from 'zod';
import { Job, presentJob } from '../../resources/files/job.shape.ts';
import { jobId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const mediaJobStatusTool = toolsOf('mediaJobs')({
  name: 'media_job_status',
  title: 'Get a media job',
  description: 'Answers how a job goes on that makes a picture, a video or a sound, and its files once it is done.',
  surfaces: ['media-mcp'],
  scope: 'mcp:read',
  permission: 'ai:read',
  input: z.strictObject({ jobId }),
  output: Job,
  untrusted: ['/error'],
  run: async ({ rooms, principal, input }) => presentJob(await rooms.mediaJobs.show(principal.orgId, input.jobId)),
});
