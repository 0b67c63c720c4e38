import { type Fragment, groupCommit, LOCKED, prepared, type Sql } from '../../../platform/db/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import { timeline } from '../journal.ts';
import { braked, labelsOf, toResend, waiting } from '../state.ts';
import type { ClaimedPost, Next } from './attempt.ts';
import { claimedColumns, claimedOf, type ClaimedRow } from './attempt-row.ts';
import { claimedEntry, claimPicked, earliestDue, hostIsHeard } from './claim-pieces.ts';

// Locks are always taken in this order: channels by id, then their posts. Whoever writes a post holds its channel.

/** `leaseMs`: how long a slot is held without news. `horizonMs`: reminders further away are not registered. */
export interface ClaimOptions {
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  incarnation: string;
  leaseMs: number;
  horizonMs: number;
}

type Row = {
  channelId: string;
  changed: boolean;
  locked: boolean;
  missingMs: number | null;
  dueAt: Date | null;
  remind: boolean;
} & ((ClaimedRow & Pick<ClaimedPost, 'isResend'>) | { postId: null });

const CHANGED = { kind: 'changed' } as const;

/** The post that holds the slot of the channel `c`, where it is due to be sent again and no brake stands on it. */
const dueResend = (sql: Sql): Fragment => sql`
          select p.id
          from posts p
          where (c.resting_until is null or c.resting_until <= now())
            and p.org_id = c.org_id
            and p.id = c.slot_post_id
            and ${toResend(sql)}
            and p.due_at <= now()
            and not ${braked(sql, labelsOf(sql))}`;

/**
 * The next due time of the channel `c`, from which nothing was claimed. Two looks, each at the head of an index. No post
 * is due before its date, but the first one by date may be due after others, as it may be planned for later.
 */
const nextDue = (sql: Sql): Fragment => sql`
          case when c.rests then c.resting_until else least((
            select min(p.due_at)
            from posts p
            where p.org_id = c.org_id
              and p.channel_id = c.id
              and ${waiting(sql)}
              and p.publish_date <= now()
              and not ${braked(sql, labelsOf(sql))}
          ), (
            select p.publish_date
            from posts p
            where p.org_id = c.org_id
              and p.channel_id = c.id
              and ${waiting(sql)}
              and p.publish_date > now()
              and not ${braked(sql, labelsOf(sql))}
            order by p.publish_date, p.seq
            limit 1
          )) end`;

/** Nobody holds the slot of the channel `c`, which works, or its post is to be sent again by whoever comes. */
const free = (sql: Sql): Fragment => sql`
          (c.slot_incarnation is null or exists (${dueResend(sql)}
          ))
          and not c.disabled
          and not c.refresh_needed
          and c.deleted_at is null`;

const lockedFreeChannels = (sql: Sql, incarnation: string): Fragment => sql`
        select c.*
        from asked i
        cross join lateral (
          -- "seen" is as the snapshot of this statement has it, while c.due_version is the newest
          select c.*, (select s.due_version from channels s where s.id = c.id) as seen
          from channels c
          where c.id = i.channel_id
            and c.org_id = i.org_id
            and ${free(sql)}
            and ${hostIsHeard(sql, incarnation)} -- else they count as locked, and are tried again
          for no key update of c
          skip locked -- whoever holds it, a long transition or a host that stands still, keeps nobody else waiting
        ) c`;

/** Writes the next due time of channels from which nothing was claimed. */
const raiseDueTimes = (sql: Sql, horizonMs: number): Fragment => sql`
        update channels c
        set next_due_at = n.due_at,
          reminder_due_at = case
            when n.due_at <= now() + ${horizonMs}::float8 * interval '1 ms' then n.due_at
            else n.reminder_due_at end
        from next n
        where c.id = n.id
          and c.org_id = n.org_id
          and not n.changed
          and (n.next_due_at is distinct from n.due_at or n.reminder_due_at is distinct from n.due_at)`;

/**
 * The only door to a provider call that can make something public: claims the slot and the earliest due post of each
 * channel, or neither, for all who ask now. A post that is to be sent again is claimed with the slot that it holds.
 * Where nothing is due it writes the next due time, unless a post was added meanwhile that this statement's snapshot
 * does not show (`due_version`): then the asker has to look again.
 */
export function claimNextOf({ clock, incarnation, leaseMs, horizonMs }: ClaimOptions) {
  const statement = prepared<{ orgIds: string[]; channelIds: string[] }, Row>(
    (sql, value) => sql`
      with asked (org_id, channel_id) as materialized (
        select *
        from unnest(${value('orgIds')}::uuid[], ${value('channelIds')}::uuid[])
      ), channel as materialized (${lockedFreeChannels(sql, incarnation)}
      ), picked as materialized (
        select c.*, c.resting_until > now() as rests, coalesce(a.id, p.id) as post_id, a.id is not null as is_resend
        from channel c
        left join lateral (${dueResend(sql)}
          for no key update -- another may have claimed it since this statement began
        ) a on true
        left join lateral (
          select q.id
          from (${earliestDue(sql)}
          ) q
          where c.slot_incarnation is null
        ) p on true
      ), claimed as (${claimPicked(sql, incarnation)}
      ), held as (
        update channels c
        set slot_incarnation = ${incarnation}, slot_post_id = t.id,
          slot_until = now() + ${leaseMs}::float8 * interval '1 ms'
        from claimed t
        where c.id = t.channel_id
          and c.org_id = t.org_id
      ), ${timeline(sql, claimedEntry(sql))}, next as materialized (
        select c.id, c.org_id, c.next_due_at, c.reminder_due_at,
          c.due_version <> c.seen as changed,${nextDue(sql)} as due_at
        from picked c
        where c.post_id is null
      ), raised as (${raiseDueTimes(sql, horizonMs)}
      )
      select i.channel_id as "channelId", coalesce(n.changed, false) as changed, ${isLocked(sql)} as locked,
        ceil(extract(epoch from n.due_at - now()) * 1000)::float8 as "missingMs", n.due_at as "dueAt",
        coalesce(n.due_at <= now() + ${horizonMs}::float8 * interval '1 ms', false) as remind,
        k.is_resend as "isResend",${claimedColumns(sql)}
      from asked i
      left join picked k on k.id = i.channel_id
      left join claimed t on t.channel_id = i.channel_id
      left join next n on n.id = i.channel_id`,
  );
  const claim = groupCommit(
    async (
      sql: Sql,
      asked: readonly { orgId: string; channelId: string }[],
    ): Promise<(Next | typeof CHANGED | typeof LOCKED)[]> => {
      const heldSince = clock.monotonic();
      // In the order of their ids, each once: this is the order of the locks.
      const wanted = [...new Map(asked.map((one) => [one.channelId, one])).values()].toSorted((a, b) =>
        a.channelId < b.channelId ? -1 : 1,
      );
      const rows = await statement(sql, {
        orgIds: wanted.map(({ orgId }) => orgId),
        channelIds: wanted.map(({ channelId }) => channelId),
      });

      const found = new Map(rows.map((row) => [row.channelId, row]));
      return asked.map(({ channelId }) => {
        const row = found.get(channelId);
        found.delete(channelId); // a second asker of the same channel finds the slot held
        if (!row) return { kind: 'idle' };
        if (row.postId !== null)
          return {
            kind: 'claimed',
            claimed: { ...claimedOf(row, incarnation, heldSince), isResend: row.isResend },
          };
        if (row.locked) return LOCKED;
        if (row.changed) return CHANGED;
        return row.missingMs === null || row.dueAt === null
          ? { kind: 'idle' }
          : { kind: 'early', dueAt: row.dueAt, missingMs: Math.max(row.missingMs, 0), remind: row.remind };
      });
    },
    { clock },
  );

  return async (sql: Sql, orgId: string, channelId: string): Promise<Next> => {
    for (;;) {
      const next = await claim(sql, { orgId, channelId });
      if (next.kind !== 'changed') return next;
    }
  };
}

/** The next due time of a channel, where it is before `before`. */
export async function findDueBefore(
  sql: Sql,
  orgId: string,
  channelId: string,
  before: Date,
): Promise<Date | undefined> {
  const [row] = await sql<{ dueAt: Date }[]>`
    select next_due_at as "dueAt"
    from channels
    where org_id = ${orgId}
      and id = ${channelId}
      and next_due_at < ${before}`;
  return row?.dueAt;
}

/** Whether the channel that `i` asks for is free and somebody else has its row locked. */
const isLocked = (sql: Sql): Fragment => sql`(
          not exists (select from channel k where k.id = i.channel_id)
          and exists (select from channels c where c.id = i.channel_id and c.org_id = i.org_id and ${free(sql)})
        )`;
