import { type Database, dealt, type Fragment, type Sql } from '../../../platform/db/index.ts';
import { timeline } from '../journal.ts';
import type { DueChange, ReminderMoves } from '../ports.ts';
import { publishing, unconfirmed, unsettled } from '../state.ts';

// What the reconciler looks for. Each scan stands on an index, is limited, and goes over all organizations.

export interface TakenOver {
  orgId: string;
  channelId: string;
  postId: string | null;
  /** By the database's clock. */
  now: Date;
}

/** A post of which the network is to be asked again. */
export interface Unsettled {
  orgId: string;
  postId: string;
  detail: 'unconfirmed' | 'processing';
  now: Date;
}

/**
 * Takes the slots of hosts that have been silent for `silenceMs`, and those past their deadline, by the database's
 * clock: a post that was being sent becomes `unconfirmed` under a new incarnation and keeps its slot for `leaseMs`, any
 * other slot is free. One that was unconfirmed already keeps its slot to the deadline, whoever is gone: the next post
 * may not overtake it.
 */
export const takeOverSlots = (
  sql: Sql,
  {
    incarnation,
    silenceMs,
    leaseMs,
    limit,
  }: { incarnation: string; silenceMs: number; leaseMs: number; limit: number },
): Promise<TakenOver[]> => sql<TakenOver[]>`
  /* all orgs */
  with lost as materialized (${lostSlots(sql, silenceMs, limit)}
  ), doubtful as (
    update posts p
    set detail = 'unconfirmed', incarnation = ${incarnation}, look_ups = 0, look_up_at = now(), updated_at = now()
    from lost l
    where p.id = l.slot_post_id
      and p.org_id = l.org_id
      and ${publishing(sql)}
    returning p.id, p.org_id, p.channel_id
  ), ${timeline(sql, { from: sql`doubtful`, kind: 'unconfirmed', message: 'The host that was sending fell silent' })},
  slots as (
    update channels c
    set slot_incarnation = case when d.id is null then null else ${incarnation} end,
      slot_post_id = case when d.id is null then null else c.slot_post_id end,
      slot_until = case when d.id is null then null else now() + ${leaseMs}::float8 * interval '1 ms' end,
      due_version = c.due_version + 1,
      next_due_at = least(c.next_due_at, now())
    from lost l
    left join doubtful d on d.channel_id = l.id
    where c.id = l.id
      and c.org_id = l.org_id
  )
  select l.org_id as "orgId", l.id as "channelId", d.id as "postId", now() as now
  from lost l
  left join doubtful d on d.channel_id = l.id`;

/**
 * Locks channels whose slot is past its deadline, or is held by a silent host for a post that was being sent. One whose
 * slot was held anew while this waited for it is left to the next sweep: the host that is silent here was heard since.
 */
const lostSlots = (sql: Sql, silenceMs: number, limit: number): Fragment => sql`
    select c.id, c.org_id, c.slot_post_id
    from channels c
    where c.slot_incarnation is not null
      and c.slot_until is not distinct from (select seen.slot_until from channels seen where seen.id = c.id)
      and (
        c.slot_until < now()
        or (
          not exists (
            select
            from actor_hosts h
            where h.incarnation = c.slot_incarnation
              and h.last_heartbeat > now() - ${silenceMs}::float8 * interval '1 ms'
          )
          and not exists (
            select
            from posts p
            where p.id = c.slot_post_id
              and p.org_id = c.org_id
              and ${unconfirmed(sql)}
          )
        )
      )
    order by c.id
    limit ${limit}
    for no key update of c`;

/** A channel that would be worked on if its time had come. */
export const works = (sql: Sql) => sql`(not c.disabled and not c.refresh_needed and c.deleted_at is null)`;

/** Channels that were due `graceMs` ago and that nobody works on, dealt over organizations. */
export const findOverdueChannels = (
  sql: Sql,
  { graceMs, limit }: { graceMs: number; limit: number },
): Promise<{ orgId: string; channelId: string }[]> => sql<{ orgId: string; channelId: string }[]>`
  /* all orgs */
  select "orgId", "channelId"
  from ${dealt(
    sql,
    sql`
        select c.org_id as "orgId", c.id as "channelId", c.next_due_at as at
        from channels c
        where c.next_due_at is not null
          and c.slot_incarnation is null
          and ${works(sql)}
          and c.next_due_at < now() - ${graceMs}::float8 * interval '1 ms'`,
    limit,
  )} overdue`;

/** Registers reminders of channels whose next due time has come within the horizon. Answers how many. */
export async function registerReminders(
  database: Database,
  reminders: ReminderMoves,
  { horizonMs, limit }: { horizonMs: number; limit: number },
): Promise<number> {
  const coming = await database<{ id: string }[]>`
    /* all orgs */
    select c.id
    from channels c
    where c.next_due_at is not null
      and c.reminder_due_at is distinct from c.next_due_at
      and ${works(database)}
      and c.next_due_at <= now() + ${horizonMs}::float8 * interval '1 ms'
    order by c.next_due_at
    limit ${limit}`;
  if (coming.length === 0) return 0;
  const { count, committed } = await database.begin(async (sql) => {
    const entered = await sql<DueChange[]>`
      /* all orgs */
      update channels c
      set reminder_due_at = c.next_due_at
      from (
        select id
        from channels
        where id = any(${coming.map(({ id }) => id)}::uuid[])
          and next_due_at is not null
        order by id
        for no key update
      ) l
      where c.id = l.id
      returning c.org_id as "orgId", c.id as "channelId", c.next_due_at as "dueAt"`;
    return { count: entered.length, committed: entered.length > 0 ? await reminders.within(sql, entered) : undefined };
  });
  committed?.();
  return count;
}

/** Posts whose look-up or poll was due `graceMs` ago, dealt over organizations: its reminder was lost. */
export const findUnasked = (
  sql: Sql,
  { graceMs, limit }: { graceMs: number; limit: number },
): Promise<Unsettled[]> => sql<Unsettled[]>`
  /* all orgs */
  select "orgId", "postId", detail, now() as now
  from ${dealt(
    sql,
    sql`
        select p.org_id as "orgId", p.id as "postId", p.detail, p.look_up_at as at
        from posts p
        where ${unsettled(sql)}
          and p.look_up_at < now() - ${graceMs}::float8 * interval '1 ms'`,
    limit,
  )} unasked`;
