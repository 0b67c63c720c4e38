import type { Find, Pointer } from './_job.ts';
import type { MediaRequest } from './_calls.ts';
import { filled, handleOf, reading, readingList, stateOf, submitOf } from './_job-answers.ts';

export const SUBMIT_MS = 60_000;
export const POLL_MS = 30_000;
const DAY_MS = 86_400_000;

/** Sends the submit of a job with `once` again: for a day the provider answers with the first job. */
export const byRepeat: Find = async ({ line, job, request, since }) => {
  if (line.clock.now().getTime() - since.getTime() > DAY_MS) return undefined;
  const { path, keeps: _, ...call } = submitOf(job, request);
  return line.http.post(
    path,
    reading((body) => handleOf(body, job), job.id ?? 'id'),
    {
      timeoutMs: SUBMIT_MS,
      ...call,
      idempotencyKey: request.key,
    },
  );
};

/** Looks among the listed jobs, the newest first, for the one that is ours. */
export const inList =
  (path: string, list: Pointer, isOurs: (entry: unknown, request: MediaRequest, since: Date) => boolean): Find =>
  async ({ line, job, request, since }) => {
    const entries = await line.http.get(path, readingList(list), { timeoutMs: POLL_MS });
    const ours = entries.filter((entry) => isOurs(entry, request, since));
    return ours.length === 1 ? handleOf(ours[0], job) : undefined;
  };

/** Asks for a job under the name that the submit gave it; its question is at a path. */
export const byName: Find = async ({ line, job, request }) => {
  const handle = { id: request.key };
  const state = reading((body) => stateOf(body, job), job.status ?? 'status');
  const known = await line.http.find(filled(job.poll as string, handle), state, { timeoutMs: POLL_MS });
  return known && handle;
};
