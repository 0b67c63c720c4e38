import { z } from 'zod';
import type { Begun } from '../resources/files/job.handlers.ts';
import { presentMade } from '../resources/files/job.shape.ts';

/** What a tool answers that makes a file: the file, or the job that goes on. */
export const Made = z.strictObject({
  id: z.string().optional(),
  path: z.string().optional(),
  jobId: z.string().optional().describe('The job takes longer: ask `media_job_status`.'),
});

export const presentBegun = (begun: Begun): z.input<typeof Made> =>
  'jobId' in begun ? { jobId: begun.jobId } : presentMade(begun.shown.files[0]!); // a job that is done has one
