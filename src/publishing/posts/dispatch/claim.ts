import { type Fragment, groupCommit, LOCKED, type Sql } from '../../../platform/db/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import type { Published } from '../../../providers/registry/index.ts';
import type { Next, ClaimedPost } from './attempt.ts';
import type { PostMedia } from '../authoring/input.ts';

// Locks are always taken in this order: channels by id, then their posts. Whoever writes a post holds its channel.

/** `leaseMs`: how long a slot is held without news. `horizonMs`: reminders further away are not registered. */
export interface Host {
  clock: Pick<Clock, 'monotonic'>;
  incarnation: string;
  leaseMs: number;
  horizonMs: number;
}

/** What is read of a post that was claimed, and of its channel. */
export interface ClaimedRow {
  channelId: string;
  postId: string;
  attempt: number;
  content: string;
  media: PostMedia[];
  settings: Record<string, unknown>;
  saved: { value: unknown } | null;
  attemptsFailed: number;
  claimedAt: Date;
  lateMs: number;
  thread: Published[] | null;
  links: ClaimedPost['links'] | null;
  providerId: string;
  providerVersion: string;
  internalId: string;
  name: string;
  credentials: string;
  tokenExpiresAt: Date | null;
  channelSettings: Record<string, unknown>;
  routeId: string | null;
}
interface Row extends Omit<ClaimedRow, 'postId'> {
  postId: string | null;
  moved: boolean;
  locked: boolean;
  missingMs: number | null;
  dueAt: Date | null;
  remind: boolean;
}
const MOVED = { kind: 'moved' } as const;

// The pieces of every statement that takes: one that settles takes the next post of its channel by the same words.

/** The earliest due post of the channel `c`, which is locked. */
export const earliestDue = (sql: Sql): Fragment => sql`
          select p.id, p.root_post_id from posts p
          where (c.resting_until is null or c.resting_until <= now()) and p.org_id = c.org_id and p.channel_id = c.id and p.state = 'QUEUE' and p.detail in ('scheduled', 'retrying')
            and p.due_at is not null and p.due_at <= now() and p.publish_date <= now() and p.deleted_at is null
          order by p.publish_date, p.seq limit 1 for no key update`;

/** Takes the posts `picked.post_id`; `picked` holds the columns of their channels as well. */
export const claimPicked = (sql: Sql, incarnation: string): Fragment => sql`
        update posts p set detail = 'publishing', attempt = p.attempt + 1, incarnation = ${incarnation}, claimed_at = now(), request_sent_at = null, look_ups = 0, look_up_at = null
        from picked c where p.id = c.post_id
        returning p.id, p.org_id, p.channel_id, p.root_post_id, p.attempt, p.content, p.media, p.settings, p.saved, p.attempts_failed, p.claimed_at, p.due_at,
          c.provider_id, c.provider_version, c.internal_id, c.name, c.credentials, c.token_expires_at, c.settings as channel_settings,
          case c.egress when 'route' then c.egress_setting_id when 'org' then (select o.egress_setting_id from organizations o where o.id = c.org_id) end as route_id`;

/** The columns of a `ClaimedRow`, from `claimed t`. */
export const claimedColumns = (sql: Sql): Fragment => sql`
        t.id as "postId", t.attempt, t.content, t.media, t.settings, t.saved, t.attempts_failed as "attemptsFailed", t.claimed_at as "claimedAt",
        round(extract(epoch from now() - t.due_at) * 1000)::float8 as "lateMs",
        case when t.root_post_id is not null then (
          select json_agg(json_build_object('id', q.release_id, 'url', q.release_url, 'saved', q.released) order by q.seq)
          from posts q where q.org_id = t.org_id and q.state = 'PUBLISHED' and (q.id = t.root_post_id or q.root_post_id = t.root_post_id)
        ) end as thread,
        (select json_agg(json_build_object('url', l.url, 'short', l.short_url, 'decided', l.state in ('made', 'long'))) from short_links l where l.org_id = t.org_id and l.post_id = t.id) as links,
        t.provider_id as "providerId", t.provider_version as "providerVersion", t.internal_id as "internalId", t.name, t.credentials,
        t.token_expires_at as "tokenExpiresAt", t.channel_settings as "channelSettings", t.route_id as "routeId"`;

/** The timeline of what was claimed, from `claimed`. */
export const claimedTimeline = (sql: Sql): Fragment =>
  sql`select org_id, id, 'claimed', 'Taken for publishing', jsonb_build_object('attempt', attempt) from claimed`;

/**
 * The only door to a provider call: takes the slot and the earliest due post of each channel, or neither, for all who ask now.
 * Where nothing is due it writes the next due time, unless a post was added meanwhile that this statement's snapshot
 * does not show (`moves`): then the asker has to look again.
 */
export function claimNextOf({ clock, incarnation, leaseMs, horizonMs }: Host) {
  const take = groupCommit(async (sql: Sql, asked: readonly { orgId: string; channelId: string }[]): Promise<(Next | typeof MOVED | typeof LOCKED)[]> => {
    const heldSince = clock.monotonic();
    // In the order of their ids, each once: this is the order of the locks.
    const wanted = [...new Map(asked.map((one) => [one.channelId, one])).values()].toSorted((a, b) => (a.channelId < b.channelId ? -1 : 1));
    const rows = await sql<Row[]>`
      with asked (org_id, channel_id) as materialized (
        select * from unnest(${wanted.map(({ orgId }) => orgId)}::uuid[], ${wanted.map(({ channelId }) => channelId)}::uuid[])
      ), channel as materialized (
        select c.* from asked i
        cross join lateral (
          select c.*, (select s.due_version from channels s where s.id = c.id) as seen -- as the snapshot of this statement has it, while c.due_version is the newest
          from channels c
          where c.id = i.channel_id and c.org_id = i.org_id and c.slot_incarnation is null and not c.disabled and not c.refresh_needed and c.deleted_at is null
          for no key update of c skip locked -- whoever holds it, a long move or a host that stands still, keeps nobody else waiting
        ) c
      ), picked as materialized (
        select c.*, c.resting_until > now() as rests, p.id as post_id from channel c left join lateral (${earliestDue(sql)}
        ) p on true
      ), claimed as (${claimPicked(sql, incarnation)}
      ), held as (
        update channels c set slot_incarnation = ${incarnation}, slot_post_id = t.id, slot_until = now() + ${leaseMs}::float8 * interval '1 ms'
        from claimed t where c.id = t.channel_id and c.org_id = t.org_id
      ), told as (
        insert into post_timeline (org_id, post_id, kind, message, data)
        ${claimedTimeline(sql)}
      ), next as materialized (
        select c.id, c.org_id, c.next_due_at, c.reminder_due_at, c.due_version <> c.seen as moved, case when c.rests then c.resting_until else least(
          (select min(p.due_at) from posts p
           where p.org_id = c.org_id and p.channel_id = c.id and p.state = 'QUEUE' and p.detail in ('scheduled', 'retrying') and p.due_at is not null and p.deleted_at is null and p.publish_date <= now()),
          (select p.due_at from posts p
           where p.org_id = c.org_id and p.channel_id = c.id and p.state = 'QUEUE' and p.detail in ('scheduled', 'retrying') and p.due_at is not null and p.deleted_at is null and p.publish_date > now()
           order by p.publish_date, p.seq limit 1)
        ) end as due_at
        from picked c where c.post_id is null
      ), raised as (
        update channels c set next_due_at = n.due_at, reminder_due_at = case when n.due_at <= now() + ${horizonMs}::float8 * interval '1 ms' then n.due_at else n.reminder_due_at end
        from next n
        where c.id = n.id and c.org_id = n.org_id and not n.moved and (n.next_due_at is distinct from n.due_at or n.reminder_due_at is distinct from n.due_at)
      )
      select t.channel_id as "channelId", false as moved, false as locked, null::float8 as "missingMs", null::timestamptz as "dueAt", false as remind,${claimedColumns(sql)}
      from claimed t
      union all
      select n.id, n.moved, false, ceil(extract(epoch from n.due_at - now()) * 1000)::float8, n.due_at, coalesce(n.due_at <= now() + ${horizonMs}::float8 * interval '1 ms', false),
        null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
      from next n
      union all
      select c.id, false, true, null, null, false, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
      from asked i join channels c on c.id = i.channel_id and c.org_id = i.org_id and c.slot_incarnation is null and not c.disabled and not c.refresh_needed and c.deleted_at is null
      where not exists (select from channel k where k.id = c.id)`;

    const found = new Map(rows.map((row) => [row.channelId, row]));
    return asked.map(({ orgId, channelId }) => {
      const row = found.get(channelId);
      found.delete(channelId); // a second asker of the same channel finds the slot held
      if (!row) return { kind: 'idle' };
      if (row.postId !== null) return { kind: 'claimed', claimed: claimedOf({ ...row, postId: row.postId }, orgId, incarnation, heldSince) };
      if (row.locked) return LOCKED;
      if (row.moved) return MOVED;
      return row.missingMs === null || row.dueAt === null
        ? { kind: 'idle' }
        : { kind: 'early', dueAt: row.dueAt, missingMs: Math.max(row.missingMs, 0), remind: row.remind };
    });
  });

  return async (sql: Sql, orgId: string, channelId: string): Promise<Next> => {
    for (;;) {
      const next = await take(sql, { orgId, channelId });
      if (next.kind !== 'moved') return next;
    }
  };
}

export const claimedOf = (row: ClaimedRow, orgId: string, incarnation: string, heldSince: number): ClaimedPost => ({
  orgId,
  channelId: row.channelId,
  postId: row.postId,
  attempt: row.attempt,
  incarnation,
  content: row.content,
  media: row.media,
  links: row.links ?? [],
  settings: row.settings,
  saved: row.saved?.value,
  attemptsFailed: row.attemptsFailed,
  thread: row.thread ?? [],
  claimedAt: row.claimedAt,
  unansweredMs: 0,
  lateMs: row.lateMs,
  heldSince,
  mayHaveSent: false,
  lookUps: 0,
  channel: {
    id: row.channelId,
    orgId,
    providerId: row.providerId,
    providerVersion: row.providerVersion,
    internalId: row.internalId,
    name: row.name,
    credentials: row.credentials,
    tokenExpiresAt: row.tokenExpiresAt,
    settings: row.channelSettings,
    routeId: row.routeId,
  },
});
