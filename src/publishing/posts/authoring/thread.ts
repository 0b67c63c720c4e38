import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { PostsDeps } from '../deps.ts';
import type { DueChange } from '../ports.ts';
import { inFlight, undecided, waiting } from '../state.ts';

// What every change of a post stands on: its channel and its thread are locked, and its verdict is what the locked rows
// say.

/** A post that is to be changed. */
export interface Target {
  orgId: string;
  postId: string;
}

/** Why a change was refused, or `done`. `in_flight`: a request may be under way. */
export type ThreadVerdict =
  | 'done'
  | 'not_found'
  | 'published'
  | 'in_flight'
  | 'undecided'
  | 'stale'
  | 'disabled'
  | 'not_failed'
  | 'not_awaiting'
  | 'not_draft'
  | 'changed'
  | 'braked'
  | 'too_old'
  | 'over_limit'
  | 'repeated'
  | 'ended'
  | 'unjudged';
/**
 * What a change means for the consent to its thread. `asked`: it is held and has to be approved (again). `kept`: it
 * waits on for that. `later`: it is held when the plan has room for it. `withdrawn`: nobody is asked any more. `void`: it
 * was approved as something else, and waits for nothing.
 */
export type ConsentChange = 'asked' | 'kept' | 'later' | 'withdrawn' | 'void';
/** What a statement answers; `earlier` is the due time that the reminder of the channel has to move to. */
export interface FoundThread {
  verdict: ThreadVerdict | typeof OUTDATED;
  orgId: string;
  channelId: string;
  earlier: Date | null;
  state: string | null;
  publishDate: Date | null;
  /** What an edit or a retry means for the consent to the thread. */
  consent?: ConsentChange | null;
  /** The first item of the thread, of a later item that is deleted. */
  rootId?: string | null;
  /** The post that something follows now. */
  followed?: string | null;
}
/** The same of a statement that has seen what it locked. */
export type Seen = FoundThread & { verdict: ThreadVerdict };

/**
 * While a statement waited for the locks the thread was changed by another: it may have items that this statement
 * cannot see, so it did nothing.
 */
export const OUTDATED = 'outdated';

/**
 * Runs a statement until it has seen what it locked: once, or twice where it came too late, as it holds the locks of a
 * transaction then.
 */
export async function runSeeing<F extends { verdict: ThreadVerdict | typeof OUTDATED }>(
  statement: () => PromiseLike<readonly F[]>,
): Promise<(F & { verdict: ThreadVerdict }) | undefined> {
  const isSeen = (found: F): found is F & { verdict: ThreadVerdict } => found.verdict !== OUTDATED;
  for (;;) {
    const [found] = await statement();
    if (!found || isSeen(found)) return found;
  }
}

/**
 * Runs a change in a transaction of its own: the reminder of a channel that came nearer is moved in the same commit.
 */
export async function runChange(
  { sql, reminders }: Pick<PostsDeps, 'sql' | 'reminders'>,
  change: (transaction: Sql) => Promise<Seen | undefined>,
): Promise<Seen | undefined> {
  const { found, committed } = await sql.begin(async (transaction) => {
    const seen = await change(transaction);
    const moved = seen?.verdict === 'done' && seen.earlier ? [dueChangeOf(seen, seen.earlier)] : [];
    return { found: seen, committed: moved.length > 0 ? await reminders.within(transaction, moved) : undefined };
  });
  committed?.();
  return found;
}
export const dueChangeOf = ({ orgId, channelId }: FoundThread, dueAt: Date): DueChange => ({ orgId, channelId, dueAt });

/** Locks the channel and the thread of a post: the CTEs `target`, `channel` and `thread` for what follows. */
export const lockedThread = (sql: Sql, { orgId, postId }: Target): Fragment => sql`
  target as materialized (
    select p.id, p.channel_id, r.id as root_id, r.version
    from posts p
    join posts r on r.org_id = p.org_id and r.id = coalesce(p.root_post_id, p.id)
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and p.deleted_at is null
  ), channel as materialized (
    select c.*
    from channels c
    where c.org_id = ${orgId}
      and c.id = (select channel_id from target)
    for no key update
  ), thread as materialized (
    select p.*, ${inFlight(sql)} as in_flight, ${undecided(sql)} as undecided, p.id = t.id as is_target
    from posts p
    join channel c on c.id = p.channel_id
    join target t on p.id = t.root_id or p.root_post_id = t.root_id
    where p.org_id = ${orgId}
      and p.deleted_at is null
    order by p.id
    for no key update of p
  )`;

/** The first case of each verdict: the root as it was when the statement began is not the one that was locked. */
export const outdated = (sql: Sql): Fragment =>
  sql`when (select version from target) <> (select version from thread where root_post_id is null) then ${OUTDATED}`;

/** A date is behind the end of the rule by which the first item `r` recurs: the series would end without a word. */
export const isBehindSeries = (sql: Sql, date: Fragment): Fragment =>
  sql`(r.repeated_at is null and ${date} > (r.recurrence ->> 'until')::timestamptz)`;

/**
 * The CTEs that lower the channel's next due time to that of the posts of `changed`; `earlier` has a row where the
 * reminder has to move.
 */
export const channelsUpdated = (sql: Sql, orgId: string, horizonMs: number): Fragment => sql`
  waiting as (
    select min(due_at) as due_at
    from changed
    where ${waiting(sql, 'changed')}
  ), earlier as (
    select w.due_at
    from waiting w, channel c
    where w.due_at < coalesce(c.next_due_at, 'infinity')
      and w.due_at <= now() + ${horizonMs}::float8 * interval '1 ms'
  ), channels_updated as (
    update channels c
    set due_version = c.due_version + 1,
      next_due_at = least(c.next_due_at, (select due_at from waiting)),
      reminder_due_at = coalesce((select due_at from earlier), c.reminder_due_at)
    where c.org_id = ${orgId}
      and c.id = (select id from channel)
      and exists (select from changed)
  )`;

/** What a statement answers of a change of `target`; `also` are further columns of the verdict `v`. */
export const answer = (sql: Sql, { orgId, postId }: Target, also: Fragment = sql``): Fragment => sql`
  select v.verdict, ${orgId}::text as "orgId", (select id from channel)::text as "channelId",
    (select due_at from earlier) as earlier, g.state, g.publish_date as "publishDate"${also}
  from verdict v
  left join changed g on g.id = ${postId}`;
