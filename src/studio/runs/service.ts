import type { Json, Sql } from '../../platform/db/index.ts';
import { holdClaims } from '../../platform/flow/index.ts';
import { AppError, bind, notFound, pageOf, type RowPage } from '../../platform/kernel/index.ts';
import { renewSteps, type StepClaimer } from './claim-store.ts';
import type { RunRef, RunKind, RunRow, StepRow } from './contract.ts';
import type { RunsDeps, RunsOptions } from './deps.ts';
import { quoteQuestion } from './ask.ts';
import { openReaders } from './readers.ts';
import { announceRun, beginRound, beginRun, changeRun, stopRun } from './rounds.ts';
import { selectEventsOfKind } from './events-store.ts';
import { dropOldRuns } from './retention.ts';
import * as store from './store.ts';
import { dropOldTraces, listTraces } from './traces.ts';
import { startSteps } from './worker.ts';

type Reads = Pick<RunsDeps, 'sql'>;

/** A run of this kind with the steps of all its rounds; 404 for any other. */
async function getRun({ sql }: Reads, key: RunRef, kind: string): Promise<RunRow & { steps: StepRow[] }> {
  const run = await store.findRun(sql, key, kind);
  if (!run) throw notFound('There is no such run');
  return { ...run, steps: await store.selectSteps(sql, key.orgId, [key.id]) };
}

const listRuns = async (
  { sql }: Reads,
  orgId: string,
  page: { kind: string; limit: number; cursor?: string | undefined },
): Promise<RowPage<RunRow>> => pageOf(await store.selectRuns(sql, orgId, page), page.limit);

/**
 * Deletes a run that is not under way, with its steps and events; its media jobs are cancelled, its traces stay. False:
 * it is under way.
 */
async function removeRun({ sql, mediaJobs }: Pick<RunsDeps, 'sql' | 'mediaJobs'>, key: RunRef): Promise<boolean> {
  for (const id of await store.jobsOfRun(sql, key))
    await mediaJobs.cancel(key.orgId, id).catch((error: unknown) => {
      if (!(error instanceof AppError && (error.code === 'conflict' || error.code === 'not_found'))) throw error;
    });
  return store.deleteRun(sql, key);
}

/** What runs have come to, for what is shown of them. */
const readsOf = (sql: Sql) => bind(sql, { steps: store.selectSteps, events: selectEventsOfKind });
export type RunReads = ReturnType<typeof readsOf>;

export type Runs = ReturnType<typeof openAiRuns>;

/** Opens the room of runs: work by AI in steps, which any process takes up. */
export function openAiRuns(options: RunsOptions, { leaseMs = 30_000 }: { leaseMs?: number } = {}) {
  let worker: ReturnType<typeof startSteps> | undefined;
  const { sql, clock, log, incarnation } = options;
  const claimer: StepClaimer = { incarnation, leaseMs };
  const deps: RunsDeps = {
    ...options,
    kinds: new Map(),
    claimer,
    held: holdClaims({
      clock,
      leaseMs,
      renew: (steps) => renewSteps(sql, claimer, steps),
      onRenewError: (error, steps) =>
        log.warn({ err: error, steps }, 'claims of steps could not be prolonged, tried again'),
    }),
    readers: openReaders(options),
    wake: () => worker?.wake(),
  };
  return {
    ...bind(deps, { begin: beginRun, beginRound, stop: stopRun, change: changeRun, announce: announceRun }),
    ...bind(deps, { get: getRun, list: listRuns, remove: removeRun, quote: quoteQuestion, traces: listTraces }),
    ...bind(deps, { sweepTraces: dropOldTraces, sweepRuns: dropOldRuns }),
    ...readsOf(sql),
    /** The same as a transaction sees it. */
    readsIn: readsOf,
    ...bind(sql as Sql, { findStuck: store.findUntouched }),
    /** Locks a run until the commit; undefined: there is none. */
    lock: (tx: Sql, key: RunRef) => store.lockRun(tx, key),
    setOutput: (tx: Sql, step: RunRef, output: Json) => store.setOutputOfStep(tx, step, output),
    follow: deps.readers.follow,
    /** Before steps are worked on: what a kind of runs does. */
    add: (kind: RunKind) => void deps.kinds.set(kind.name, kind),
    /** Works on what is due, in this process, until it is disposed of. */
    start: (): AsyncDisposable => (worker = startSteps(deps)),
    async [Symbol.asyncDispose]() {
      deps.held[Symbol.dispose]();
      await deps.readers[Symbol.asyncDispose]();
    },
  };
}
