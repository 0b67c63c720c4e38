import { type Database, runEach, type Sql } from '../../platform/db/index.ts';
import { atMost } from '../../platform/flow/index.ts';
import { AppError, bind, type Clock } from '../../platform/kernel/index.ts';
import { append, type NewFact } from '../../platform/outbox/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Texts } from '../text/index.ts';
import { type BriefWeek, briefWeek } from './rules.ts';
import {
  type BriefCounts,
  claimReader,
  countWeek,
  type DueReader,
  findDueReaders,
  keepReaders,
  type MayRead,
  zonesOfReaders,
} from './store.ts';

interface BriefsDeps {
  sql: Database;
  clock: Clock;
  log: Pick<Log, 'warn'>;
  texts: Pick<Texts, 'sumUp'>;
  mayRead: MayRead;
}
/** A week of an organization, and what a model says of it. */
interface SummedWeek {
  counts: BriefCounts;
  summary: string | null;
}

/** Readers of one commit, whose weeks are summed up side by side before. */
const AT_ONCE = 50;
const SUMMARY_MS = 15_000;
/** Other sweeps wait meanwhile: whoever comes later in a sweep is told without a summary. */
const SUMMARIES_MS = 60_000;

/**
 * Announces what agents and models did in a week, to those who chose to hear it: on Mondays at 08:00 by their clocks,
 * once for each of their organizations, whatever dies meanwhile. Answers how many were looked at; one that fails holds
 * up no other.
 */
async function tellAgentWeeks(deps: BriefsDeps, limit: number): Promise<number> {
  const { sql, clock, log, mayRead } = deps;
  await keepReaders(sql, mayRead, limit);
  const until = clock.monotonic() + SUMMARIES_MS;
  const weeks: Weeks = new Map(
    (await zonesOfReaders(sql)).map(({ timezone, now }) => [timezone, briefWeek(now, timezone)]),
  );
  let summed = new Map<string, SummedWeek>();
  return runEach<DueReader>(limit, {
    atOnce: AT_ONCE,
    find: async (most, tried) => {
      const due = await findDueReaders(sql, endedOf(weeks), most, tried);
      summed = clock.monotonic() < until ? await sumUpWeeks(deps, weeks, due) : new Map();
      return due;
    },
    work: (reader) => sql.begin((tx) => tellReader(tx, weeks, summed, reader)),
    failed: (err, { orgId, userId }) =>
      log.warn({ err, orgId, userId }, 'the week of agents could not be told to a reader, tried again'),
  });
}

type Weeks = ReadonlyMap<string, BriefWeek>;
const endedOf = (weeks: Weeks) => [...weeks].map(([timezone, { monday }]) => ({ timezone, monday }));
const keyOf = (weeks: Weeks, { orgId, timezone }: DueReader): string =>
  `${orgId} ${weeks.get(timezone)!.begins.toISOString()}`;

/** Claims a reader and announces the week, in one commit. */
async function tellReader(tx: Sql, weeks: Weeks, summed: Map<string, SummedWeek>, reader: DueReader): Promise<void> {
  const { orgId, userId, timezone, isTold } = reader;
  const week = weeks.get(timezone)!;
  if (!(await claimReader(tx, reader, week.monday))) return;
  if (!isTold) return; // chosen since: the next week is their first one
  const key = keyOf(weeks, reader);
  const known = summed.get(key) ?? { counts: await countWeek(tx, orgId, week), summary: null };
  summed.set(key, known);
  if (hasHappened(known.counts)) await append(tx, [factOf(orgId, userId, week, known)]);
}

/**
 * Has the weeks of readers who are due summed up, each once for all readers of an organization. Nothing is claimed: a
 * process that dies here may have paid for a summary that nobody sees, and the next one tells the week. One that cannot
 * be counted is left out, and is counted again when it is told.
 */
async function sumUpWeeks(deps: BriefsDeps, weeks: Weeks, due: readonly DueReader[]): Promise<Map<string, SummedWeek>> {
  const first = Map.groupBy(
    due.filter(({ isTold }) => isTold),
    (reader) => keyOf(weeks, reader),
  );
  const summed = new Map<string, SummedWeek>();
  await Promise.all(
    [...first].map(async ([key, [reader]]) => {
      const counts = await countWeek(deps.sql, reader!.orgId, weeks.get(reader!.timezone)!).catch(() => undefined);
      if (!counts) return;
      summed.set(key, { counts, summary: hasHappened(counts) ? await summaryOf(deps, reader!, counts) : null });
    }),
  );
  return summed;
}

/** What a model says of a week; null without a provider, room in the budget, or an answer in time. */
async function summaryOf({ texts, clock, log }: BriefsDeps, asker: DueReader, counts: BriefCounts) {
  let summary = null as string | null;
  try {
    await atMost(clock, SUMMARY_MS, async (over) => {
      summary = await texts.sumUp(asker, rowsOf(counts), over);
    });
  } catch (error) {
    if (!(error instanceof AppError)) log.warn({ err: error }, 'a week was not summed up, and is told without');
  }
  return summary;
}

const rowsOf = ({ acts, programs, proposals, waiting, runs, spentMicros, drafts }: BriefCounts) => ({
  'acts of agents': acts,
  'agents that acted': programs,
  'proposals that agents made': proposals,
  'proposals that wait for a decision': waiting,
  'new drafts by agents': drafts,
  'runs of designer and content pipeline': runs,
  'spent on AI and media, in US dollars': (spentMicros / 1_000_000).toFixed(2),
});

const hasHappened = ({ acts, proposals, runs, spentMicros, drafts }: BriefCounts): boolean =>
  acts + proposals + runs + spentMicros + drafts > 0;

const factOf = (orgId: string, userId: string, { from, to }: BriefWeek, { counts, summary }: SummedWeek): NewFact => ({
  orgId,
  topic: 'agents.week_summed',
  entityId: orgId,
  payload: { userId, from, to, ...counts, summary },
});

/** Opens the weekly briefs of what agents and models do. */
export const openBriefs = (deps: BriefsDeps) => bind(deps, { tellAgentWeeks });
