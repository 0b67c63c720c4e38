import type { Database } from '../../src/platform/db/index.ts';
import { ANSWERS } from './network.ts';
import { FAULTS } from './swarm.ts';

/** Acts of people and of the operator. */
const ACTS = ['create', 'edit', 'move', 'delete', 'pause', 'resume', 'retry', 'approve', 'login', 'enable', 'plan'];
/** Kinds of the timeline; a few of them are rare enough to need hundreds of seeds. */
const TIMELINE = {
  often: [
    'approved',
    'cancelled',
    'claimed',
    'created',
    'edited',
    'failed',
    'first_comment',
    'paused',
    'plug',
    'published',
    'reconciled',
    'request_sent',
    'resumed',
    'retry_planned',
    'scheduled',
    'unconfirmed',
  ],
  seldom: ['accepted', 'rate_limited', 'woke'],
};
const OUTCOMES = {
  often: ['post PUBLISHED', 'post ERROR', 'post DRAFT', 'post QUEUE', 'post deleted', 'follow-up done'],
  seldom: ['follow-up failed', 'host followed'],
};
const ANSWERED_OFTEN = ['well', 'lost', 'cut', 'late', 'unavailable'];
const always = [...ACTS, ...FAULTS, 'sent post', 'sent comment', 'sent repost', 'told by a webhook'];
const named = (what: string, kinds: readonly string[]) => kinds.map((kind) => `${what} ${kind}`);

/** What a few seeds have to meet, for their verdict to say something. */
export const MET_BY_FEW: readonly string[] = [
  ...always,
  ...named('answered', ANSWERED_OFTEN),
  ...named('timeline', TIMELINE.often),
  ...OUTCOMES.often,
];
/** What many seeds have to meet: every act, fault, answer, kind of the timeline and outcome that can be met here. */
export const MET_BY_MANY: readonly string[] = [
  ...always,
  ...named('answered', ['well', ...ANSWERS]),
  ...named('timeline', [...TIMELINE.often, ...TIMELINE.seldom]),
  ...OUTCOMES.often,
  ...OUTCOMES.seldom,
];
/** From so many seeds on, a run that has not met all of them fails. */
const MANY_SEEDS = 1_000;

/** What was not met. A kind counts as met where one of its more exact names is: `post ERROR` by `post ERROR missed`. */
export const notMet = (seen: Readonly<Record<string, number>>, wanted: readonly string[]): string[] =>
  wanted.filter((one) => !Object.keys(seen).some((what) => what === one || what.startsWith(`${one} `)));

type Numbers = Readonly<Record<string, number>>;
export const sumOf = <One extends Numbers>(one: One, other: Numbers): One =>
  Object.entries(other).reduce((sum, [what, n]) => ({ ...sum, [what]: (sum[what] ?? 0) + n }), one);
/** What is said of a run in its last line. */
export type Figures = Record<'seeds' | 'runs' | 'steps' | 'virtualDays' | 'seconds' | 'runsPerMinute', number> & {
  seen: Numbers;
};

/** Says what came of all seeds. Many of them have to have met everything that can be met. Answers the exit code. */
export function judge(figures: Figures, say: (line: string) => void): number {
  say(JSON.stringify(figures));
  const missing = figures.seeds >= MANY_SEEDS ? notMet(figures.seen, MET_BY_MANY) : [];
  if (missing.length > 0) say(`not met by ${figures.seeds} seeds: ${missing.join(', ')}`);
  return missing.length > 0 ? 1 : 0;
}

/** Kinds of the timeline, and outcomes of posts and follow-ups, that stand in the database after a simulation. */
export const standsIn = (sql: Database) => sql<{ what: string; times: number }[]>`
  select 'timeline ' || kind as what, count(*)::int as times
  from post_timeline
  group by 1
  union all
  select concat_ws(' ', 'post', case when deleted_at is null then state else 'deleted' end, detail), count(*)::int
  from posts
  group by 1
  union all
  select 'follow-up ' || state, count(*)::int
  from post_follow_ups
  group by 1
  order by 1`;
