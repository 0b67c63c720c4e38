import { bind, notFound, pageOf, type RowPage } from '../../platform/kernel/index.ts';
import type { RunKey, RunKind, RunRow, StepRow } from './contract.ts';
import type { RunsDeps, RunsOptions } from './deps.ts';
import { followRun, openRunReaders } from './follow.ts';
import { openStepHands } from './hands.ts';
import { announceRun, beginRound, beginRun, changeRun, stopRun } from './rounds.ts';
import { findRun, selectRuns, selectSteps } from './store.ts';
import { dropOldTraces, listTraces } from './traces.ts';
import { startSteps } from './worker.ts';

type Reads = Pick<RunsDeps, 'sql'>;

/** A run of this kind with the steps of all its rounds; 404 for any other. */
async function getRun({ sql }: Reads, key: RunKey, kind: string): Promise<RunRow & { steps: StepRow[] }> {
  const run = await findRun(sql, key, kind);
  if (!run) throw notFound('There is no such run');
  return { ...run, steps: await selectSteps(sql, key) };
}

const listRuns = async (
  { sql }: Reads,
  orgId: string,
  page: { kind: string; limit: number; cursor?: string | undefined },
): Promise<RowPage<RunRow>> => pageOf(await selectRuns(sql, orgId, page), page.limit);

export type Runs = ReturnType<typeof openRuns>;

/** Opens the room of runs: work by AI in steps, which any process takes up. */
export function openRuns(options: RunsOptions, { leaseMs }: { leaseMs?: number } = {}) {
  let worker: ReturnType<typeof startSteps> | undefined;
  const deps: RunsDeps = {
    ...options,
    kinds: new Map(),
    hands: openStepHands({ ...options, ...(leaseMs !== undefined && { leaseMs }) }),
    readers: openRunReaders(options.clock),
    wake: () => worker?.wake(),
  };
  return {
    ...bind(deps, { begin: beginRun, beginRound, stop: stopRun, change: changeRun, announce: announceRun }),
    ...bind(deps, { get: getRun, list: listRuns, traces: listTraces, sweepTraces: dropOldTraces }),
    follow: (key: RunKey, how: Parameters<typeof followRun>[2]) => followRun(deps, key, how),
    /** Before steps are worked on: what a kind of runs does. */
    add: (kind: RunKind) => void deps.kinds.set(kind.name, kind),
    /** Works on what is due, in this process, until it is disposed of. */
    start: (): AsyncDisposable => (worker = startSteps(deps)),
    [Symbol.dispose]: () => deps.hands[Symbol.dispose](),
  };
}
