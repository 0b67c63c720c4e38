import { isUnavailable, whileAway } from '../../platform/db/index.ts';
import { type MediaRoom, plainLine, urlOfKey } from '../../library/media/index.ts';
import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import type { MediaAdapter, MediaOutput, MediaService, Segment } from '../../providers/registry/index.ts';
import type { MediaJobsDeps } from './deps.ts';
import { endWithin, failedBy, finishJob } from './end.ts';
import type { ClaimedJob, RemoteOutput } from './row.ts';
import { KINDS_OF, LONGEST_AWAY_MS, MOST_COPIES, resultNameOf, pauseInMs } from './rules.ts';
import { addResult, type EndedJob, repeatLater } from './store.ts';
import { srtOf, vttOf } from './subtitles.ts';

/** Whether a result lies at the provider, so that another process can fetch it. */
export const isRemote = (output: MediaOutput): output is RemoteOutput => 'url' in output;

interface Results {
  adapter: MediaAdapter;
  service: MediaService;
  outputs: readonly MediaOutput[];
  segments: readonly Segment[] | undefined;
}
type Generated = Parameters<MediaRoom['made']['keep']>[2]['generated'];

/** The claim was over while a result was copied: the file must not come, for somebody else copies it. */
class Superseded extends Error {}

/**
 * Copies the results into the library, those that are there already left out: the file and its place among the results
 * are one commit, and the last of them ends the job.
 */
export async function copyResults(deps: MediaJobsDeps, job: ClaimedJob, results: Results): Promise<void> {
  const { outputs, segments } = results;
  const items = [...outputs, ...(segments ? (['srt', 'vtt'] as const) : [])];
  if (items.length === 0) return fail(deps, job, new ProviderError('rejected', 'The provider answered no result'));
  try {
    const [first] = job.fileIds;
    let path = first === undefined ? undefined : (await deps.media.get(job.orgId, first)).path;
    for (let n = job.fileIds.length; n < items.length; n += 1) {
      const item = items[n]!;
      const copy = async () => {
        // of one try: whoever waits for the next one keeps no place
        using _ = await deps.copies.enter(job.orgId, { lane: job.providerId });
        return await copyOne(deps, job, results, item, { n, isLast: n === items.length - 1, path });
      };
      // what lies at the provider is fetched again by whoever has the job next
      path = typeof item === 'string' || isRemote(item) ? await copy() : await persistently(deps, copy);
    }
  } catch (error) {
    if (error instanceof Superseded) return;
    await refused(deps, job, error, outputs.every(isRemote));
  }
}

/** Copies what lies here alone and is paid for: repeated here while the database is away, or a failure may pass. */
async function persistently({ clock }: Pick<MediaJobsDeps, 'clock'>, copy: () => Promise<string>): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await whileAway(clock, LONGEST_AWAY_MS, copy);
    } catch (error) {
      const isOver = error instanceof Superseded || isUnavailable(error) || tries === MOST_COPIES;
      if (isOver || !mayPass(error)) throw error;
      await clock.sleep(pauseInMs(tries - 1));
    }
  }
}

const mayPass = (error: unknown): boolean =>
  error instanceof ProviderError
    ? error.failure === 'unavailable' || error.failure === 'rate_limited'
    : !(error instanceof AppError) || error.status >= 500;

/** Copies the `n`th result; `path` is the address of the first one, which it answers. */
async function copyOne(
  deps: MediaJobsDeps,
  job: ClaimedJob,
  { adapter, service, segments }: Results,
  item: MediaOutput | 'srt' | 'vtt',
  { n, isLast, path }: { n: number; isLast: boolean; path: string | undefined },
): Promise<string> {
  let ended: EndedJob | undefined;
  let first = path;
  const made = {
    name: plainLine(resultNameOf(job.operation, job.request.prompt)),
    generated: generatedOf(adapter, job),
    async also(...[tx, file]: Parameters<Parameters<MediaRoom['made']['keep']>[2]['also']>) {
      if (!(await addResult(tx, job, n, file.id))) throw new Superseded();
      first ??= urlOfKey(deps.backendUrl, file.storageKey);
      if (isLast) ended = await endWithin(deps, tx, job, { state: 'done', billing: 'estimate', path: first });
    },
  };
  if (typeof item === 'string') {
    const text = (item === 'srt' ? srtOf : vttOf)(segments ?? []);
    await deps.media.made.keepSubtitles(job.orgId, job.userId, item, { ...made, text });
  } else {
    const { bytes, body, cancel } = await service.download(item);
    try {
      await deps.media.made.keep(job.orgId, job.userId, { ...made, kinds: KINDS_OF[job.operation], bytes, body });
    } catch (error) {
      if (isRemote(item)) cancel(); // else it is read again, and whoever has asked the provider discards it
      throw error;
    }
  }
  if (ended) deps.waiters.written(job.id);
  return first!;
}

function generatedOf({ id, title, version, website }: MediaAdapter, job: ClaimedJob): Generated {
  return {
    provider: `media/${id}`,
    version,
    operation: job.operation,
    model: job.model,
    prompt: job.request.prompt ?? null,
    costMicros: job.costMicros,
    licence: `Terms of ${title}`,
    licenceUrl: website ?? null,
  };
}

/** A copy failed: it is repeated where that can help and the result is still at the provider. */
async function refused(deps: MediaJobsDeps, job: ClaimedJob, error: unknown, isThere: boolean): Promise<void> {
  const tries = job.tries + 1;
  if (mayPass(error) && isThere && tries < MOST_COPIES) {
    const askedMs = error instanceof ProviderError ? error.retryAfterMs : 0;
    return repeatLater(deps.sql, job, { inMs: pauseInMs(job.tries, askedMs), tries });
  }
  if (!(error instanceof AppError))
    deps.log.error({ err: error, jobId: job.id }, 'a result of a media job could not be kept, and is given up');
  await fail(
    deps,
    job,
    error instanceof AppError ? error : new AppError('unavailable', 'The result could not be kept on our side'),
  );
}

const fail = async (deps: MediaJobsDeps, job: ClaimedJob, error: AppError): Promise<void> =>
  void (await finishJob(deps, job, { ...failedBy(error), billing: 'estimate' }));
