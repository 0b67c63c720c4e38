import { z } from 'zod';
import { ProviderError } from '../../platform/kernel/index.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Call } from '../kit/wire/http.ts';
import { OPERATION_MS } from '../kit/wire/large.ts';
import type {
  MediaCalls,
  MediaDone,
  MediaHandle,
  MediaOperation,
  MediaOutput,
  MediaPolled,
  MediaRequest,
} from './_calls.ts';
import type { MediaLine } from './_contract.ts';
import type { Job, JobQuirks, JobRequest, Jobs, JobTool } from './_job.ts';
import {
  doneOf,
  failedOf,
  filled,
  handleOf,
  keptOf,
  numberAt,
  reading,
  readingList,
  stateOf,
  submitOf,
  textAt,
} from './_job-answers.ts';
import { POLL_MS, SUBMIT_MS } from './_job-find.ts';

const KINDS: Readonly<Record<MediaOperation, MediaOutput['kind']>> = {
  image: 'image',
  edit: 'image',
  upscale: 'image',
  slideshow: 'image',
  video: 'video',
  avatar: 'video',
  speech: 'audio',
  music: 'audio',
  transcription: 'document',
};

/** Refuses an address of an answer on another server, before a key goes there. */
function ownAddress({ base, hosts }: MediaLine, domains: readonly string[], url: string): string {
  const { protocol, hostname, origin } = URL.parse(url) ?? { protocol: '', hostname: '', origin: '' };
  const known = [base, ...Object.values(hosts)].map((one) => new URL(one).origin);
  const below = domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
  if (known.includes(origin) || (protocol === 'https:' && below)) return url;
  throw refused('rejected', 'The provider names an address on a server that is not its own, which is not asked');
}

const EMPTY = { state: 'failed', failure: 'rejected', billed: true } as const; // it succeeded, with nothing to be had

/** A submit to one path, with a body of JSON. */
export const asJson =
  (path: string, bodyOf: (request: JobRequest, ahead: Readonly<Record<string, string>>) => object): Job['submit'] =>
  (request, ahead) => ({ path, json: bodyOf(request, ahead) });

const chosen =
  (jobs: Jobs) =>
  ({ operation }: MediaRequest): string => {
    const [only, ...others] = Object.keys(jobs);
    return others.length === 0 ? only! : operation;
  };

/** Joins a provider of jobs from its record. */
export const jobPoll =
  (jobs: Jobs, { choose = chosen(jobs), domains = [], pollHeaders = () => ({}), tools = {} }: JobQuirks = {}) =>
  (line: MediaLine): MediaCalls => {
    const { http, values } = line;
    const jobOf = ({ job }: MediaHandle): Job => jobs[String(job)]!;
    const kindOf = ({ kind }: MediaHandle) => kind as MediaOutput['kind'];

    const at = (path: string | { at: string }, handle: MediaHandle): { path: string; headers?: Call['headers'] } =>
      typeof path === 'string'
        ? { path: filled(path, handle) }
        : { path: ownAddress(line, domains, String(handle[path.at])), headers: pollHeaders(values) };

    async function start(request: MediaRequest) {
      const name = choose(request);
      const job = jobs[name]!;
      const { path, keeps, ...call } = submitOf(job, request, await job.before?.(line, request));
      const kind = job.kind ?? KINDS[request.operation];
      const sent: Call = {
        timeoutMs: job.poll ? SUBMIT_MS : OPERATION_MS[request.operation === 'speech' ? 'speech' : 'image'],
        ...call,
        ...(job.once && { idempotencyKey: request.key }),
        creates: true,
      };
      if (!job.poll) {
        const done = await http.post(
          path,
          reading((body) => doneOf(body, job, kind), [job.outputs].flat()[0]!),
          sent,
        );
        return { state: 'done' as const, ...done };
      }
      const handle = await http.post(
        path,
        reading((body) => handleOf(body, job), job.id ?? 'id'),
        sent,
      );
      return { state: 'running' as const, handle: { ...handle, ...keeps, job: name, kind } };
    }

    async function poll(handle: MediaHandle): Promise<MediaPolled> {
      const job = jobOf(handle);
      const { path, headers } = at(job.poll!, handle);
      const call: Call = { timeoutMs: POLL_MS, ...(headers && { headers }) };
      const state = reading((body) => stateOf(body, job), job.status ?? 'status');
      const told = job.pollBody
        ? await http.post(path, state, { ...call, json: job.pollBody(handle) })
        : await http.get(path, state, call);
      if (told.state === 'succeeded')
        return job.result ? result(told.body, job, handle) : ended(told.body, job, handle);
      if (told.state === 'queued' || told.state === 'running') {
        const progress = job.progress && numberAt(told.body, job.progress[0]);
        if (progress === undefined) return { state: 'running' };
        return {
          state: 'running',
          progress: Math.min(Math.max(Math.round((100 * progress) / job.progress![1]), 0), 100),
        };
      }
      return failedOf(told.body, job, told.state);
    }
    const paidBy = ({ paid }: MediaHandle) => (typeof paid === 'number' ? paid : undefined);
    const ended = (body: unknown, job: Job, handle: MediaHandle): MediaPolled => {
      const done = doneOf(body, job, kindOf(handle), paidBy(handle));
      return done
        ? { state: 'done', ...done }
        : { ...EMPTY, message: 'It ended without a result, or the result is gone' };
    };

    async function result(last: unknown, job: Job, handle: MediaHandle): Promise<MediaPolled> {
      const { path: place, keeps, judges, headers: replyHeaders } = job.result!;
      const kept = keptOf(last, keeps);
      if (!kept) return { ...EMPTY, message: 'It ended without a result' };
      const { path, headers } = at(place, { ...handle, ...kept });
      type Told = { failed: unknown } | { done: MediaDone; body: unknown };
      const read = reading((body): Told | undefined => {
        if (judges && numberAt(body, 'status')! >= 400) return { failed: body };
        const done = doneOf(body, job, kindOf(handle), paidBy(handle));
        return done && { done, body };
      }, [job.outputs].flat()[0]!);
      const told = await http.get(path, read, {
        timeoutMs: POLL_MS,
        ...(headers && { headers }),
        ...(replyHeaders && { replyHeaders }),
        ...(judges && { replyStatus: true as const, accepts: JUDGED }),
      });
      if ('failed' in told) return failedOf(told.failed, job, 'failed');
      const cost = await job.bill?.(line, handle, told.body).catch((error: unknown) => {
        if (error instanceof ProviderError) return undefined;
        throw error;
      });
      return { state: 'done', ...told.done, ...(cost && { cost }) };
    }

    const all = Object.values(jobs);
    return {
      start,
      ...(all.some((job) => job.poll) && { poll }),
      ...(all.some((job) => job.cancel) && {
        async cancel(handle: MediaHandle) {
          const { cancel } = jobOf(handle);
          if (!cancel) return;
          const { path, headers } = at(cancel.path, handle);
          const call: Call = { timeoutMs: POLL_MS, ...(headers && { headers }) };
          if (cancel.method === 'delete') await http.delete(path, call);
          else await http[cancel.method](path, z.unknown(), call);
        },
      }),
      ...(all.some((job) => job.find) && {
        async find(request: MediaRequest, since: Date) {
          const name = choose(request);
          const job = jobs[name]!;
          const found = await job.find?.({ line, job, request, since });
          const { keeps } = submitOf(job, request);
          return found && { ...found, ...keeps, job: name, kind: job.kind ?? KINDS[request.operation] };
        },
      }),
      tools: Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, () => listOf(line, tool)])),
    };
  };

/** Statuses by which a provider says that a job failed; others are faults of the call. */
const JUDGED = [400, 403, 404, 408, 409, 410, 413, 415, 422, 500];

async function listOf({ http }: MediaLine, { path, list, id, label, query, json }: JobTool) {
  const read = readingList(list);
  const call = { ...(query && { query }) };
  const entries = json ? await http.post(path, read, { ...call, json }) : await http.get(path, read, call);
  return entries.flatMap((entry) => {
    const value = textAt(entry, id);
    return value === undefined ? [] : [{ id: value, label: textAt(entry, label) ?? value }];
  });
}
