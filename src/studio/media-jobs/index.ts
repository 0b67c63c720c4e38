export type { MediaQuote, NewMedia } from './create.ts';
export type { MediaJobsOptions } from './deps.ts';
export { FORMS, type VideoOption } from './options.ts';
export type { ShownJob } from './results.ts';
export { mediaJobsRetention } from './store.ts';
export type { JobRow } from './row.ts';
export { JOB_STATES } from './rules.ts';
export { type MediaJobs, openMediaJobs } from './service.ts';
