import { z } from 'zod';
import type { LibraryFile, ShownTransform } from '../../../src/library/media/index.ts';
import { COST_SOURCES } from '../../../src/providers/registry/index.ts';
import {
  FORMS,
  type JobRow,
  JOB_STATES,
  type ShownJob,
  type VideoOption,
} from '../../../src/studio/media-jobs/index.ts';
import { instant } from '../../http/fields.ts';

/** A file that a job has made (S151). */
export const MadeFile = z.strictObject({ id: z.string(), path: z.string() });
export const presentMade = ({ id, path }: LibraryFile): z.input<typeof MadeFile> => ({ id, path });

/**
 * A job as S151 says it; `detail` is finer, and `unknown` may have been billed. `costMicros` is there once it is settled;
 * `costSource` tells where the amount comes from, null where nothing was billed.
 */
export const Job = z.strictObject({
  id: z.string(),
  state: z.enum(['queued', 'running', 'done', 'failed']),
  detail: z.enum([...JOB_STATES, 'cancelling']),
  operation: z.string(),
  providerId: z.string(),
  version: z.string(),
  model: z.string().nullable(),
  progress: z.int().nullable(),
  result: z.array(MadeFile).nullable(),
  error: z.string().nullable(),
  costMicros: z.number().nullable(),
  costSource: z.enum(COST_SOURCES).nullable(),
  settled: z.boolean(),
  createdAt: instant,
  endedAt: instant.nullable(),
});

const STATES = {
  queued: 'queued',
  running: 'running',
  copying: 'running',
  done: 'done',
  failed: 'failed',
  cancelled: 'failed',
  unknown: 'failed',
} as const satisfies Record<JobRow['state'], z.input<typeof Job>['state']>;

export const presentJob = ({ job, files }: ShownJob): z.input<typeof Job> => ({
  id: job.id,
  state: STATES[job.state],
  detail: job.isCancelling && !job.endedAt ? 'cancelling' : job.state,
  operation: job.operation,
  providerId: job.providerId,
  version: job.version,
  model: job.model,
  progress: job.progress,
  result: job.state === 'done' || files.length > 0 ? files.map(presentMade) : null,
  error: job.error,
  costMicros: job.costMicros,
  costSource: job.costSource,
  settled: job.isSettled,
  createdAt: job.createdAt.toISOString(),
  endedAt: job.endedAt?.toISOString() ?? null,
});

/** A change of a file, which is made here and costs nothing, as a job. */
export const presentTransform = ({ job, file }: ShownTransform): z.input<typeof Job> => ({
  id: job.id,
  state: STATES[job.state],
  detail: job.state,
  operation: job.operation,
  providerId: 'library',
  version: 'v1',
  model: null,
  progress: job.state === 'done' ? 100 : null,
  result: file ? [presentMade(file)] : job.state === 'done' ? [] : null,
  error: job.error,
  costMicros: 0,
  costSource: null,
  settled: true,
  createdAt: job.createdAt.toISOString(),
  endedAt: job.endedAt?.toISOString() ?? null,
});

/** A value of `customParams`; a bound is there where the model has one. */
const VideoTool = z.strictObject({
  name: z.string(),
  label: z.string(),
  required: z.boolean(),
  tool: z.string().nullable(),
  values: z.array(z.union([z.string(), z.number()])).optional(),
  range: z.strictObject({ from: z.number(), to: z.number() }).optional(),
  maxLength: z.int().optional(),
  files: z.strictObject({ kinds: z.array(z.enum(['image', 'video', 'audio'])), min: z.int(), max: z.int() }).optional(),
});
/** A way to make a video (S151). */
export const VideoWay = z.strictObject({
  identifier: z.string(),
  title: z.string(),
  description: z.string(),
  tools: z.array(VideoTool),
  anyOf: z.array(z.array(z.string())),
  placement: z.string(),
  output: z.array(z.enum(FORMS)),
});
export const presentVideoOption = ({ tools, anyOf, output, ...option }: VideoOption): z.input<typeof VideoWay> => ({
  ...option,
  tools: [...tools],
  anyOf: anyOf.map((group) => [...group]),
  output: [...output],
});
