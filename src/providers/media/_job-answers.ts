import { z } from 'zod';
import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import type { MediaDone, MediaHandle, MediaOutput, MediaPolled, MediaRequest, SourceFile } from './_calls.ts';
import type { Job, JobState, Pointer, Submit } from './_job.ts';

const MOST_OUTPUTS = 20;

/** Reads every value at a place. */
export const valuesAt = (body: unknown, at: Pointer): unknown[] =>
  (at === '' ? [] : at.split('.')).reduce<unknown[]>(
    (found, name) =>
      found.flatMap((value): unknown[] => {
        if (name === '*') return Array.isArray(value) ? value : [];
        const own = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
        return own ? [(value as Record<string, unknown>)[name]] : [];
      }),
    [body],
  );
export const textAt = (body: unknown, at: Pointer): string | undefined => {
  const [value] = valuesAt(body, at);
  return typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;
};
export const numberAt = (body: unknown, at: Pointer): number | undefined => {
  const text = textAt(body, at);
  return text === undefined || Number.isNaN(Number(text)) ? undefined : Number(text);
};
export const filled = (path: string, handle: MediaHandle): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(handle[name] ?? '')));

/** A schema of answers that must have something: what is missing makes the answer one that nobody understands. */
export const reading = <T>(read: (body: unknown) => T | undefined, path: string) =>
  z.unknown().transform((body, context) => {
    const value = read(body);
    if (value !== undefined) return value;
    context.issues.push({ code: 'custom', message: 'is missing', input: body, path: path.split('.') });
    return z.NEVER;
  });

/** Reads further values of an answer; undefined where one is missing. */
export function keptOf(
  body: unknown,
  keeps: Readonly<Record<string, Pointer>> = {},
): Record<string, string> | undefined {
  const kept = Object.entries(keeps).map(([name, at]) => [name, textAt(body, at)] as const);
  return kept.some(([, value]) => value === undefined)
    ? undefined
    : (Object.fromEntries(kept) as Record<string, string>);
}

function outputsOf(body: unknown, { outputs }: Job, kind: MediaOutput['kind']): MediaOutput[] {
  const isAddress = (url: unknown): url is string => typeof url === 'string' && /^https?:\/\//.test(url);
  const found = [outputs].flat().map((at) => valuesAt(body, at).flat().filter(isAddress));
  const urls = new Set(found.find((list) => list.length > 0));
  return [...urls].slice(0, MOST_OUTPUTS).map((url) => ({ kind, url }));
}

export function doneOf(body: unknown, job: Job, kind: MediaOutput['kind'], paid?: number): MediaDone | undefined {
  const outputs = outputsOf(body, job, kind);
  if (outputs.length === 0) return undefined;
  const told = Object.entries(job.usage ?? {}).flatMap(([unit, { at, per = 1 }]) => {
    const value = [at].flat().flatMap((place) => numberAt(body, place) ?? [])[0];
    return value === undefined ? [] : [[unit, value / per] as const];
  });
  const usage: CallUsage = { ...(kind === 'image' && { images: outputs.length }), ...Object.fromEntries(told) };
  const cost = costOf(body, job) ?? (paid === undefined ? undefined : { micros: paid, source: 'reply' as const });
  return { outputs, usage, ...(cost && { cost }) };
}

function costOf(body: unknown, { cost }: Job): Cost | undefined {
  const units = cost && (!cost.unit || textAt(body, cost.unit[0]) === cost.unit[1]) && numberAt(body, cost.at);
  return typeof units !== 'number'
    ? undefined
    : { micros: Math.ceil(Number((units * cost!.micros).toFixed(6))), source: 'reply' };
}

/** Makes the submit of a job, with the values of the calls before it. */
export function submitOf(job: Job, request: MediaRequest, ahead: Readonly<Record<string, string>> = {}): Submit {
  const urls = (wanted: SourceFile['kind']) =>
    request.sources.flatMap(({ kind, publicUrl }) => (kind === wanted && publicUrl) || []);
  const submit = job.submit({ ...request, images: urls('image'), videos: urls('video'), sounds: urls('audio') }, ahead);
  const { callback } = job;
  if (!callback || request.callbackUrl === undefined) return submit;
  const named = { [callback.name]: request.callbackUrl };
  return callback.in === 'query'
    ? { ...submit, query: { ...submit.query, ...named } }
    : { ...submit, json: { ...(submit.json as object), ...named, ...callback.json } };
}

/** Reads the handle in the submit's answer; undefined where a part of it is missing. */
export function handleOf(body: unknown, job: Job): MediaHandle | undefined {
  const id = textAt(body, job.id ?? 'id');
  const kept = keptOf(body, job.keeps);
  const cost = costOf(body, job);
  return id === undefined || !kept ? undefined : { id, ...kept, ...(cost && { paid: cost.micros }) };
}

/** Usual words for states, in lower case. */
const STATES: Readonly<Record<JobState, string>> = {
  queued: 'queued, pending, waiting, created, starting, in_queue, inqueue, preparing, queueing, draft',
  running: 'running, processing, in_progress, inprogress, started, generating, rendering, finalizing',
  succeeded: 'succeeded, succeed, success, completed, complete, done, ready',
  failed: 'failed, fail, error, expired',
  canceled: 'canceled, cancelled, aborted',
  rejected: 'rejected, nsfw, request moderated, content moderated',
};
const BY_WORD = new Map(
  Object.entries(STATES).flatMap(([state, words]) => words.split(', ').map((word) => [word, state as JobState])),
);

export function stateOf(body: unknown, job: Job): { state: JobState; body: unknown } | undefined {
  const word = textAt(body, job.status ?? 'status');
  const named = word === undefined ? undefined : (job.states?.[word] ?? BY_WORD.get(word.toLowerCase()));
  const state = word === undefined ? job.unnamed : named;
  return state && { state, body };
}

export function failedOf(body: unknown, job: Job, state: JobState): MediaPolled {
  const words = [...new Set((job.error ?? []).flatMap((at) => valuesAt(body, at).flat()))]
    .filter((word): word is string => typeof word === 'string' && word !== '')
    .join(': ');
  const known = job.failures?.find(([pattern]) => pattern.test(words))?.[1];
  const failure = known ?? (state === 'failed' ? 'unavailable' : 'rejected');
  const unnamed = { canceled: 'It was cancelled', rejected: 'It refused the content' } as const;
  return {
    state: 'failed',
    failure,
    message: words || (state in unnamed ? unnamed[state as 'canceled'] : 'It failed'),
  };
}

/** A schema of answers with a list. */
export const readingList = (at: Pointer) =>
  reading((body) => {
    const [entries] = valuesAt(body, at);
    return Array.isArray(entries) ? (entries as unknown[]) : undefined;
  }, at);
