import { bind, newId, systemClock } from '../../platform/kernel/index.ts';
import { runEach } from '../../platform/db/index.ts';
import { startWorker } from '../../platform/flow/index.ts';
import { collectChannel } from './collecting/collect.ts';
import { addSchedules, findEndedRuns, openRuns, type RunKey } from './collecting/run-store.ts';
import { claimCollections, giveUpLate } from './collecting/collection-store.ts';
import { completeRun } from './collecting/complete.ts';
import { type AnalyticsDeps, hasNumbers } from './deps.ts';
import { exportNumbers } from './reading/export.ts';
import * as reading from './reading/reading.ts';
import { deleteOldNotes, deleteOldPostDays, rollUpWeeks } from './retention-store.ts';
import { tellWeeks } from './collecting/summary.ts';
import { replanSummaries } from './collecting/summary-store.ts';
import { openStatementQueue, withoutQueue } from './collecting/statement-queue.ts';

/** Channels of one process that are read at a time. */
const AT_ONCE = 8;
const REST_MS = 30_000;

/** Schedules organizations that are not, and plans summaries anew where a zone has changed. */
async function keepSchedules({ sql }: AnalyticsDeps, limit: number): Promise<number> {
  await replanSummaries(sql);
  return addSchedules(sql, limit);
}

/** Begins the collections that are due, gives up what is left of earlier days, and completes what a crash left open. */
async function runCollections(deps: AnalyticsDeps, limit: number): Promise<number> {
  const { sql, providers, log } = deps;
  const networks = providers
    .list('social')
    .flatMap((adapter) => (hasNumbers(deps, adapter) ? [`${adapter.id}@${adapter.version}`] : []));
  const late = await giveUpLate(sql, limit);
  const due = await openRuns(sql, networks, limit);
  const completed = await runEach<RunKey>(limit, {
    find: (most, tried) => findEndedRuns(sql, most, tried),
    work: (run) => completeRun(deps, run),
    failed: (err, run) => log.warn({ err, ...run }, 'the numbers of a day could not be completed, tried again'),
  });
  return Math.max(late, due, completed);
}

/** Reads channels that are due, at most so many at once; answers how many. */
async function collectDue(deps: AnalyticsDeps, limit: number): Promise<number> {
  const claimed = await claimCollections(deps.sql, newId(), limit);
  await Promise.all(claimed.map((collection) => collectChannel(deps, collection, withoutQueue)));
  return claimed.length;
}

function startCollecting(deps: AnalyticsDeps) {
  const inQueue = openStatementQueue(systemClock); // a rest is of the machine's time, whatever clock the product has
  return startWorker({
    clock: deps.clock,
    concurrency: AT_ONCE,
    restMs: REST_MS,
    claim: (limit) => claimCollections(deps.sql, newId(), limit),
    work: (collection) => collectChannel(deps, collection, inQueue),
    onWorkError: (err, { channelId }) =>
      deps.log.warn({ err, channelId }, 'the numbers of a channel could not be kept, and are read again'),
    onClaimError: (err) => deps.log.warn({ err }, 'channels that are due could not be claimed, repeated in 5 s'),
  });
}

async function rollUp({ sql, retention }: AnalyticsDeps, limit: number): Promise<number> {
  const notes = await deleteOldNotes(sql, retention.channelDays, limit);
  return Math.max(notes, await rollUpWeeks(sql, retention.channelDays, limit));
}
const dropPostDays = ({ sql, retention }: AnalyticsDeps, limit: number): Promise<number> =>
  deleteOldPostDays(sql, retention.postDays, limit);

export type Analytics = ReturnType<typeof openAnalytics>;

/** The room of analytics: the numbers of channels and posts, collected each night and read from what was collected. */
export const openAnalytics = (deps: AnalyticsDeps) => ({
  ...bind(deps, { collectDue, dropPostDays, exportNumbers, keepSchedules, rollUp, runCollections, tellWeeks }),
  ...bind(deps, reading),
  /** Starts to read what is due, where actors run. */
  start: () => startCollecting(deps),
});
