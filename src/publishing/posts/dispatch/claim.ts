import { type Fragment, groupCommit, LOCKED, prepared, type Sql } from '../../../platform/db/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import type { Published } from '../../../providers/registry/index.ts';
import { type Entry, timeline } from '../journal.ts';
import type { ChannelSnapshot } from '../channels-port.ts';
import { type ClaimColumns, post } from '../row.ts';
import { braked, labelsOf, toResend, waiting } from '../state.ts';
import type { ClaimedPost, Next } from './attempt.ts';
import { savedOf } from './saved.ts';

// Locks are always taken in this order: channels by id, then their posts. Whoever writes a post holds its channel.

/** `leaseMs`: how long a slot is held without news. `horizonMs`: reminders further away are not registered. */
export interface ClaimOptions {
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  incarnation: string;
  leaseMs: number;
  horizonMs: number;
}

/** What is read of a post for an attempt, and of its channel. */
export interface AttemptRow extends ClaimColumns {
  channelId: string;
  postId: string;
  savedMs: number | null;
  isLater: boolean;
  thread: Published[] | null;
  links: ClaimedPost['links'] | null;
  channel: Omit<ChannelSnapshot, 'tokenExpiresAt'> & { tokenExpiresAt: string | null };
}
export type ClaimedRow = AttemptRow & { lateMs: number };
type Row = {
  channelId: string;
  changed: boolean;
  locked: boolean;
  missingMs: number | null;
  dueAt: Date | null;
  remind: boolean;
} & ((ClaimedRow & Pick<ClaimedPost, 'isResend'>) | { postId: null });
const CHANGED = { kind: 'changed' } as const;

// The pieces of every statement that claims: one that settles claims the next post of its channel by the same words.

/** The earliest due post of the channel `c`, which is locked, that no brake stands on. */
export const earliestDue = (sql: Sql): Fragment => sql`
          select p.id, p.root_post_id
          from posts p
          where (c.resting_until is null or c.resting_until <= now())
            and p.org_id = c.org_id
            and p.channel_id = c.id
            and ${waiting(sql)}
            and p.due_at <= now()
            and p.publish_date <= now()
            and not ${braked(sql, labelsOf(sql))}
          order by p.publish_date, p.seq
          limit 1
          for no key update`;

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

/** When no host was heard for so long, what was due meanwhile is judged before anything is claimed (S126). */
const SILENT_MS = 60_000;
/**
 * This host has been heard, as far as its row says: after a long silence nothing is claimed before its next heartbeat,
 * and what was due meanwhile is judged before that one.
 */
export const hostIsHeard = (sql: Sql, incarnation: string): Fragment => sql`
          not exists (
            select
            from actor_hosts h
            where h.incarnation = ${incarnation}
              and h.last_heartbeat < now() - ${SILENT_MS}::float8 * interval '1 ms'
          )`;

/** Claims the posts `picked.post_id`; `picked` holds the columns of their channels as well. */
export const claimPicked = (sql: Sql, incarnation: string): Fragment => sql`
        update posts p
        set detail = 'publishing', attempt = p.attempt + 1, incarnation = ${incarnation}, claimed_at = now(),
          request_sent_at = null, look_ups = 0, look_up_at = null, updated_at = now()
        from picked c
        where p.id = c.post_id
        returning p.id, p.org_id, p.channel_id, p.root_post_id, p.due_at, ${post.names(sql, 'claim', 'p')},
          ${snapshot(sql)} as channel`;

/** What is read of a claimed post, from the row `alias` of it. */
export const attemptColumns = (sql: Sql, alias: string): Fragment => sql`
        ${sql(alias)}.id as "postId", ${post.select(sql, 'claim', alias)},
        (extract(epoch from now() - (${sql(alias)}.saved ->> 'since')::timestamptz) * 1000)::float8 as "savedMs",
        ${sql(alias)}.root_post_id is not null as "isLater",
        case when ${sql(alias)}.root_post_id is not null then (
          -- a person who named a release gave it no address
          select json_agg(
            json_build_object('id', q.release_id, 'url', coalesce(q.release_url, ''), 'saved', q.released)
            order by q.seq
          )
          from posts q
          where q.org_id = ${sql(alias)}.org_id
            and q.state = 'PUBLISHED'
            and (q.id = ${sql(alias)}.root_post_id or q.root_post_id = ${sql(alias)}.root_post_id)
        ) end as thread, (
          select json_agg(json_build_object('url', l.url, 'short', l.short_url, 'decided', l.state in ('made', 'long')))
          from short_links l
          where l.org_id = ${sql(alias)}.org_id
            and l.post_id = ${sql(alias)}.id
        ) as links`;

/** The columns of a `ClaimedRow`, from `claimed t`. */
export const claimedColumns = (sql: Sql): Fragment => sql`${attemptColumns(sql, 't')}, t.channel,
        round(extract(epoch from now() - t.due_at) * 1000)::float8 as "lateMs"`;

/** A `ChannelSnapshot` of the channel `c`. */
export const snapshot = (sql: Sql): Fragment => sql`json_build_object(
          'id', c.id, 'orgId', c.org_id, 'providerId', c.provider_id, 'providerVersion', c.provider_version,
          'internalId', c.internal_id, 'name', c.name, 'credentials', c.credentials,
          'tokenExpiresAt', c.token_expires_at, 'settings', c.settings, 'routeId', case c.egress
            when 'route' then c.egress_setting_id
            when 'org' then (select o.egress_setting_id from organizations o where o.id = c.org_id)
          end)`;

/** The entry of the timeline for what was claimed. */
export const claimedEntry = (sql: Sql): Entry => ({
  from: sql`claimed`,
  kind: sql`'claimed'`,
  message: sql`'Taken for publishing'`,
  data: sql`jsonb_build_object('attempt', attempt)`,
});

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

/** What an attempt is told, from the row that was read for it. */
export function attemptOf(row: AttemptRow) {
  const { channel, channelId, postId, isLater } = row;
  const { tokenExpiresAt } = channel;
  return {
    ...post.pick('claim', row),
    orgId: channel.orgId,
    channelId,
    postId,
    ...savedOf(row),
    thread: row.thread ?? [],
    isLater,
    links: row.links ?? [],
    channel: { ...channel, tokenExpiresAt: tokenExpiresAt === null ? null : new Date(tokenExpiresAt) },
  };
}

export const claimedOf = (row: ClaimedRow, incarnation: string, heldSince: number): ClaimedPost => ({
  ...attemptOf(row),
  incarnation,
  heldSince,
  lateMs: row.lateMs,
  unansweredMs: 0,
  mayHaveSent: false,
  isResend: false,
  lookUps: 0,
});
