import { isUnavailable, whileAway } from '../../platform/db/index.ts';
import { AppError, asAppError, newId, ProviderError } from '../../platform/kernel/index.ts';
import type {
  MediaAdapter,
  MediaDone,
  MediaHandle,
  MediaRequest,
  MediaService,
  SourceFile,
} from '../../providers/registry/index.ts';
import { BudgetRefusal, costTold } from '../budget/index.ts';
import { callbackUrlOf } from './callback.ts';
import { copyResults, isRemote } from './copy.ts';
import { estimateOf, reservationOf } from './create.ts';
import type { MediaJobsDeps } from './deps.ts';
import { failedBy, finishJob } from './end.ts';
import type { ClaimedJob } from './row.ts';
import {
  LONGEST_AWAY_MS,
  lookUpInMs,
  MOST_BREAKS,
  MOST_CANCELS,
  MOST_COPIES,
  MOST_LOOK_UPS,
  MOST_SUBMITS,
  MOST_WAIT_TO_STOP_MS,
  pauseInMs,
  pollInMs,
  rhythmOf,
} from './rules.ts';
import * as store from './store.ts';

/** A provider that is open for a job. */
interface Opened {
  adapter: MediaAdapter;
  service: MediaService;
}

/** Makes the step of a job that this process has claimed. What it throws is repeated when the claim is over. */
export async function makeStep(deps: StepDeps, job: ClaimedJob): Promise<void> {
  try {
    await step(deps, job);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    deps.log.error({ err: error, jobId: job.id }, 'a step of a media job broke, and is repeated a few times');
    await broken(deps, job, asAppError(error));
  }
}

async function step(deps: StepDeps, job: ClaimedJob): Promise<void> {
  switch (job.state) {
    case 'queued':
      return job.isSubmit ? submit(deps, job) : lookUp(deps, job, await deps.open(job));
    case 'running':
      return poll(deps, job);
    case 'copying':
      return copyAgain(deps, job);
    case 'done':
    case 'failed':
    case 'cancelled':
    case 'unknown':
      return stop(deps, job);
  }
}

/**
 * A step ended in a way that nobody foresaw, and might each time: its failures are counted like those that were
 * foreseen, and the job ends by the same rules.
 */
async function broken(deps: StepDeps, job: ClaimedJob, error: AppError): Promise<void> {
  const tries = job.tries + 1;
  const later = (inMs: number) => store.repeatLater(deps.sql, job, { inMs, tries });
  switch (job.state) {
    case 'queued':
      if (!job.isSubmit) return tries >= MOST_LOOK_UPS ? unknown(deps, job) : later(lookUpInMs(job.tries));
      if (tries < MOST_BREAKS) return later(pauseInMs(job.tries));
      // where it has left after all, the next step looks it up
      if (!(await finishJob(deps, { ...job, isUnsent: true }, { ...failedBy(error), billing: 'release' })))
        await store.repeatLater(deps.sql, job, { inMs: lookUpInMs(0), tries: 0 });
      return;
    case 'running':
      if (!job.isOverdue) return note(deps, job, { inMs: pauseInMs(job.tries) });
      return void (await finishJob(deps, job, { ...failedBy(error), billing: 'estimate', isStopped: true }));
    case 'copying':
      if (tries < MOST_COPIES) return later(pauseInMs(job.tries));
      return void (await finishJob(deps, job, { ...failedBy(error), billing: 'estimate' }));
    case 'done':
    case 'failed':
    case 'cancelled':
    case 'unknown':
      await store.noteStop(deps.sql, job, tries < MOST_CANCELS ? { inMs: pauseInMs(job.tries), tries } : undefined);
  }
}

type Open = (job: Pick<ClaimedJob, 'orgId' | 'ownSetting' | 'settingId'>) => Promise<Opened | AppError>;
/** What a step is handed: providers are opened once for all steps that are claimed at about the same time. */
export type StepDeps = MediaJobsDeps & { open: Open };

/** Opens providers by the settings of jobs, each once; an error: the setting can no longer be used. */
export function openOnce({ settings, providers }: Pick<MediaJobsDeps, 'settings' | 'providers'>): Open {
  const opened = new Map<string, Promise<Opened | AppError>>();
  async function open(owner: string | null, settingId: string): Promise<Opened | AppError> {
    try {
      const { adapter, values } = await settings.pinned(owner, 'media', settingId);
      return { adapter, service: providers.mediaService(adapter, { orgId: owner, values }) };
    } catch (error) {
      if (error instanceof AppError && error.status < 500) return error;
      throw error;
    }
  }
  return ({ orgId, ownSetting, settingId }) => {
    const owner = ownSetting ? orgId : null;
    const key = `${owner} ${settingId}`;
    const one = opened.get(key) ?? open(owner, settingId ?? '');
    opened.set(key, one);
    one.catch(() => opened.delete(key)); // the database was away
    return one;
  };
}

async function requestOf(
  { media, backendUrl, signingKey }: Pick<MediaJobsDeps, 'media' | 'backendUrl' | 'signingKey'>,
  { id, orgId, operation, model, request: { sources: ids, ...request } }: ClaimedJob,
  signal: AbortSignal,
): Promise<MediaRequest | undefined> {
  const sources = await Promise.all(ids.map((file) => media.made.openSource(orgId, file, signal)));
  if (sources.some((file) => file === undefined)) return undefined;
  const callbackUrl = callbackUrlOf({ backendUrl, signingKey }, id);
  return {
    ...request,
    operation,
    model,
    sources: sources as SourceFile[],
    key: id,
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
}

/** Asks the provider to begin: once, since from the note before the call on it counts as sent. */
async function submit(deps: StepDeps, job: ClaimedJob): Promise<void> {
  if (job.isCancelling) return void (await finishJob(deps, job, CANCELLED_UNSENT));
  const over = new AbortController();
  try {
    const opened = await deps.open(job);
    if (opened instanceof AppError) return await unable(deps, job, opened);
    const request = await requestOf(deps, job, over.signal);
    if (!request) {
      const gone = new AppError('conflict', 'A file that this starts from is no longer in the library');
      return void (await finishJob(deps, job, { ...failedBy(gone), billing: 'release' }));
    }
    const sent = await store.setSent(deps.sql, job);
    if (sent === undefined) return; // somebody else has it
    if (!sent) return void (await finishJob(deps, job, CANCELLED_UNSENT));
    const started = await opened.service.start(request, over.signal).catch((error: unknown) => error as Error);
    if (started instanceof Error) return await refused(deps, job, opened, started);
    if (started.state === 'running') return await begun(deps, job, opened.adapter, started.handle);
    await arrived(deps, job, opened, started);
  } finally {
    over.abort();
  }
}

/** A submit failed. Only what surely left nothing behind may be sent again, here or elsewhere. */
async function refused(deps: StepDeps, job: ClaimedJob, opened: Opened, error: Error): Promise<void> {
  if (!(error instanceof AppError)) {
    deps.log.error({ err: error, jobId: job.id }, 'a submit of a media job broke, and is looked up');
    return lookUp(deps, job, opened);
  }
  if (!(error instanceof ProviderError))
    return void (await finishJob(deps, job, { ...failedBy(error), billing: 'release' }));
  switch (error.failure) {
    case 'lost':
      return lookUp(deps, job, opened);
    case 'rejected':
    case 'unsupported':
      return void (await finishJob(deps, job, { ...failedBy(error), billing: 'release' }));
    case 'reauthorize':
    case 'exhausted':
      return unable(deps, job, error);
    case 'rate_limited':
    case 'unavailable':
      if (job.fallbacks.length > 0 || job.attempt >= MOST_SUBMITS) return unable(deps, job, error);
      return store.repeatLater(deps.sql, job, {
        inMs: pauseInMs(job.attempt, error.retryAfterMs),
        tries: 0,
        isUnsent: true,
      });
  }
}

/** This provider cannot do it, and nothing was billed: the next one is asked, or the job has failed. */
async function unable(deps: StepDeps, job: ClaimedJob, error: AppError): Promise<void> {
  const [next, ...fallbacks] = job.fallbacks;
  if (!next || job.isCancelling) return void (await finishJob(deps, job, { ...failedBy(error), billing: 'release' }));
  const opened = await deps.open({ ...job, ...next });
  if (opened instanceof AppError) return unable(deps, { ...job, fallbacks }, error);
  const { operation, request } = job;
  const sources = await Promise.all(
    request.sources.map((file) => deps.media.made.openSource(job.orgId, file, AbortSignal.abort())),
  );
  const there = sources.filter((file) => file !== undefined);
  const estimateMicros = estimateOf(opened.service, { operation, request, model: next.model }, there);
  const moved = { ...next, fallbacks, reservation: newId(), estimateMicros };
  try {
    await deps.sql.begin(async (tx) => {
      if (!(await store.moveJobTo(tx, job, moved))) return;
      const { orgId, userId } = job;
      const key = { orgId, ref: job.reservation };
      // the key that has asked for it may have been replaced since
      const programId = (await deps.budget.programOf(tx, key)) ?? null;
      await deps.budget.release(tx, key);
      await deps.budget.reserve(tx, reservationOf({ ...moved, orgId, userId, programId }));
    });
  } catch (refusal) {
    if (!(refusal instanceof BudgetRefusal)) throw refusal;
    return unable(deps, { ...job, fallbacks }, error);
  }
  deps.wake();
}

/** Looks for the operation of a submit whose answer did not come. It is never sent again. */
async function lookUp(deps: StepDeps, job: ClaimedJob, opened: Opened | AppError): Promise<void> {
  const find = opened instanceof AppError ? undefined : opened.service.find;
  if (opened instanceof AppError || !find) return unknown(deps, job);
  const over = new AbortController();
  let found: MediaHandle | undefined;
  try {
    const request = await requestOf(deps, job, over.signal);
    found = request && (await find(request, job.submittedAt));
  } catch (error) {
    if (!(error instanceof AppError))
      deps.log.error({ err: error, jobId: job.id }, 'a look-up of a media job broke, and is repeated');
  } finally {
    over.abort();
  }
  if (found && !(await store.isHandleTaken(deps.sql, job, found))) return begun(deps, job, opened.adapter, found);
  if (job.tries + 1 >= MOST_LOOK_UPS) return unknown(deps, job);
  await store.repeatLater(deps.sql, job, { inMs: lookUpInMs(job.tries), tries: job.tries + 1 });
}

const unknown = async (deps: StepDeps, job: ClaimedJob): Promise<void> =>
  void (await finishJob(deps, job, {
    state: 'unknown',
    errorCode: 'provider_failed',
    error: 'The provider did not answer: it may have been billed. It is not sent again by itself',
    billing: 'keep',
  }));

/** Writes the handle of a running operation down before anything else. */
async function begun(deps: StepDeps, job: ClaimedJob, adapter: MediaAdapter, handle: MediaHandle): Promise<void> {
  const { everyMs, mostMs } = rhythmOf(adapter);
  await whileAway(deps.clock, LONGEST_AWAY_MS, () =>
    store.setRunning(deps.sql, job, { handle, inMs: everyMs, mostMs }),
  );
  deps.wake(everyMs);
}

async function poll(deps: StepDeps, job: ClaimedJob): Promise<void> {
  if (job.isCancelling) return void (await finishJob(deps, job, CANCELLED));
  const opened = await deps.open(job);
  const handle = job.handle!; // it runs
  if (opened instanceof AppError || !opened.service.poll) {
    const error = opened instanceof AppError ? opened : new AppError('conflict', 'The provider cannot be asked');
    return void (await finishJob(deps, job, { ...failedBy(error), billing: 'estimate' }));
  }
  const { everyMs } = rhythmOf(opened.adapter);
  const polled = await opened.service.poll(handle, job.request.prompt).catch((error: unknown) => error as Error);
  if (polled instanceof Error) {
    const { failure, retryAfterMs }: Partial<ProviderError> = polled instanceof ProviderError ? polled : {};
    if (failure === 'rejected' || failure === 'unsupported')
      return void (await finishJob(deps, job, {
        ...failedBy(polled as ProviderError),
        billing: 'estimate',
        isStopped: true,
      }));
    if (!(polled instanceof AppError)) deps.log.error({ err: polled, jobId: job.id }, 'a poll broke, and is repeated');
    if (job.isOverdue) return tooLong(deps, job, opened);
    return note(deps, job, { inMs: Math.max(pauseInMs(0), pollInMs(everyMs, job.tries, retryAfterMs)) });
  }
  switch (polled.state) {
    case 'done':
      return arrived(deps, job, opened, polled);
    case 'failed':
      return void (await finishJob(deps, job, {
        ...failedBy(new ProviderError(polled.failure, polled.message)),
        billing: polled.billed ? 'estimate' : 'release',
      }));
    case 'running':
      if (job.isOverdue) return tooLong(deps, job, opened);
      return note(deps, job, { polled, inMs: pollInMs(everyMs, job.tries, polled.waitMs) });
  }
}

async function note(
  deps: StepDeps,
  { id, orgId, claim, tries }: ClaimedJob,
  { polled, inMs }: { polled?: { progress?: number | undefined }; inMs: number },
): Promise<void> {
  const whole = polled?.progress === undefined ? null : Math.min(99, Math.max(0, Math.round(polled.progress)));
  await deps.noteRunning(deps.sql, {
    id,
    orgId,
    claim,
    progress: whole,
    isAnswered: polled !== undefined,
    tries: tries + 1,
    inMs,
  });
  deps.wake(inMs);
}

const CANCELLED_UNSENT = { state: 'cancelled', error: 'Cancelled', billing: 'release' } as const;
const CANCELLED = { state: 'cancelled', error: 'Cancelled', billing: 'estimate', isStopped: true } as const;

async function tooLong(deps: StepDeps, job: ClaimedJob, { adapter, service }: Opened): Promise<void> {
  const minutes = Math.max(1, Math.round(rhythmOf(adapter).mostMs / 60_000));
  await finishJob(deps, job, {
    state: 'failed',
    errorCode: 'provider_failed',
    error: `${adapter.title} did not end in ${minutes} minutes and ${service.cancel ? 'was' : 'cannot be'} told to stop: it may have been billed`,
    billing: 'estimate',
    isStopped: true,
  });
}

/**
 * The provider is done: the cost is settled with the state, then the results are copied at once. Those that came with
 * the answer lie here alone, and are paid for: they wait for a database that is away.
 */
async function arrived(deps: StepDeps, job: ClaimedJob, { adapter, service }: Opened, done: MediaDone) {
  const { outputs, segments, cost } = done;
  const remote = outputs.every(isRemote) ? outputs.filter(isRemote) : null;
  try {
    const noted = await whileAway(deps.clock, LONGEST_AWAY_MS, () =>
      deps.sql.begin(async (tx) => {
        const row = await store.setCopying(tx, job, { outputs: remote, segments, cost: costTold(cost) });
        if (row && !job.isSettled) await deps.budget.settle(tx, { orgId: job.orgId, ref: job.reservation }, cost);
        return row;
      }),
    );
    const told = { ...job, ...noted, isSettled: true, tries: 0 };
    if (noted) await copyResults(deps, told, { adapter, service, outputs, segments });
  } finally {
    for (const output of outputs) if (!isRemote(output)) await output.discard().catch(() => undefined);
  }
}

/** Goes on with the copies of a job whose process is gone, or where the provider's server failed. */
async function copyAgain(deps: StepDeps, job: ClaimedJob): Promise<void> {
  const opened = await deps.open(job);
  if (opened instanceof AppError)
    return void (await finishJob(deps, job, { ...failedBy(opened), billing: 'estimate' }));
  const { outputs, segments } = job;
  if (outputs) return copyResults(deps, job, { ...opened, outputs, segments: segments ?? undefined });
  if (job.handle && opened.service.poll) return store.pollAgain(deps.sql, job);
  await finishJob(deps, job, {
    state: 'failed',
    errorCode: 'provider_failed',
    error: 'The result was lost before it could be kept, and the provider has billed it',
    billing: 'estimate',
  });
}

/** Tells the provider to stop what nobody waits for any more. */
async function stop(deps: StepDeps, job: ClaimedJob): Promise<void> {
  const opened = await deps.open(job);
  const cancel = opened instanceof AppError ? undefined : opened.service.cancel;
  try {
    if (cancel && job.handle) await cancel(job.handle);
    await store.noteStop(deps.sql, job, undefined);
  } catch (error) {
    const { failure = 'rejected', retryAfterMs }: Partial<ProviderError> = error instanceof ProviderError ? error : {};
    const passes = ['unavailable', 'lost', 'rate_limited'].includes(failure);
    const tries = job.tries + 1;
    await store.noteStop(
      deps.sql,
      job,
      passes && tries < MOST_CANCELS
        ? { inMs: pauseInMs(job.tries, Math.min(retryAfterMs ?? 0, MOST_WAIT_TO_STOP_MS)), tries }
        : undefined,
    );
  }
}
