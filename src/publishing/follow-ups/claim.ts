import { dealt, type Fragment, groupCommit, type Sql } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import { braked, HEARTBEAT_TIMEOUT_MS, labelsOf, orgIsDisabled, snapshot, timeline } from '../posts/index.ts';
import { hasOpenItems } from './plan.ts';
import { FOLLOW_UP_CLAIM_MS, type FollowUp } from './row.ts';

/** What a post has for this host, and when more of it is due. */
export interface ClaimedFollowUps {
  claimed: readonly FollowUp[];
  later: Date | undefined;
}
type Read = Omit<FollowUp, 'heldSince' | 'channel'> & {
  channel: (Omit<NonNullable<FollowUp['channel']>, 'tokenExpiresAt'> & { tokenExpiresAt: string | null }) | null;
};
type Row = { asked: string; later: Date | null } & (Read | { id: null });

/** A post whose follow-ups are wanted. */
export interface FollowedPost {
  orgId: string;
  postId: string;
}

/** The host that works on the row `f` has been silent for so long that others may take it over. */
const isSilent = (sql: Sql): Fragment => sql`(
        f.incarnation is not null
        and not exists (
          select
          from actor_hosts h
          where h.incarnation = f.incarnation
            and h.last_heartbeat > now() - ${HEARTBEAT_TIMEOUT_MS}::float8 * interval '1 ms'
        )
      )`;

/** The row `f` waits for its channel, which is logged in and enabled again. */
const isReady = (sql: Sql): Fragment => sql`(
        f.state = 'waiting'
        and f.login_until is not null
        and exists (
          select
          from channels c
          where c.id = f.channel_id
            and c.org_id = f.org_id
            and not c.refresh_needed
            and not c.disabled
        )
      )`;

/**
 * The only door to a call: claims what is due of each post, and what a silent host has left. What that host may have
 * sent is looked up, never sent again.
 */
export const claimFollowUpsOf = ({ clock, incarnation }: { clock: Pick<Clock, 'monotonic'>; incarnation: string }) =>
  groupCommit(async (sql: Sql, asked: readonly FollowedPost[]): Promise<ClaimedFollowUps[]> => {
    const heldSince = clock.monotonic();
    const wanted = [...new Map(asked.map((one) => [one.postId, one])).values()];
    const rows = await sql<Row[]>`
      with asked as materialized (
        select *
        from unnest(
          ${wanted.map(({ orgId }) => orgId)}::uuid[],
          ${wanted.map(({ postId }) => postId)}::uuid[]
        ) as t (org_id, post_id)
      ), found as materialized (${lockedFollowUps(sql)}
      ), claimed as (${claimFound(sql, incarnation)}
      ), ${timeline(sql, {
        from: sql`(
          select org_id, post_id as id, kind, plug
          from claimed
          where before = 'sending'
            and kind <> 'reply'
        ) taken`,
        kind: sql`case kind when 'first_comment' then 'first_comment' else 'plug' end`,
        message: 'The host that was at it fell silent; the network will be asked',
        data: sql`case when plug is not null then jsonb_build_object('plug', plug) end`,
      })}
      select a.post_id as "asked", (
          select min(o.due_at)
          from post_follow_ups o
          where o.post_id = a.post_id
            and o.org_id = a.org_id
            and o.id not in (select id from found)
            and o.due_at > now() -- what is due and not found, the scan finds: somebody has it locked, or a brake is on
        ) as later,${followUpColumns(sql)}
      from asked a
      left join claimed f on f.post_id = a.post_id and f.org_id = a.org_id
      left join posts p on p.id = f.post_id and p.org_id = f.org_id
      left join channels o on o.id = p.channel_id and o.org_id = p.org_id
      left join channels c on c.id = f.channel_id and c.org_id = f.org_id and c.deleted_at is null
      left join plug_configurations k on f.kind = 'auto_plug' and k.id::text = f.key and k.org_id = f.org_id
        and (k.activated or f.state = 'unconfirmed')`;
    const found = Map.groupBy(rows, ({ asked: postId }) => postId);
    return asked.map(({ postId }) => {
      const own = found.get(postId) ?? [];
      found.delete(postId); // a second asker of the same post finds it claimed
      return {
        claimed: own.flatMap((row) => (row.id === null ? [] : [followUpOf(row, heldSince)])),
        later: own[0]?.later ?? undefined,
      };
    });
  });

const lockedFollowUps = (sql: Sql): Fragment => sql`
        select f.id, f.state as before
        from asked a
        join post_follow_ups f on f.post_id = a.post_id and f.org_id = a.org_id
        join posts p on p.id = f.post_id and p.org_id = f.org_id
        join channels c on c.id = f.channel_id and c.org_id = f.org_id
        where f.due_at is not null
          and (f.due_at <= now() or ${isSilent(sql)} or ${isReady(sql)})
          and not ${isHeld(sql)}
        order by f.id
        for no key update of f
        for key share of c -- a brake that is put on waits, or is seen
        skip locked`;

/**
 * A brake stands on the row `f` of the post `p`, in the channel `c` that is to act, or its organization is disabled: only
 * look-ups go on.
 */
const isHeld = (sql: Sql): Fragment =>
  sql`(f.state = 'waiting' and (${braked(sql, labelsOf(sql))} or ${orgIsDisabled(sql)}))`;

const claimFound = (sql: Sql, incarnation: string): Fragment => sql`
        update post_follow_ups f
        set state = case d.before when 'waiting' then 'sending' else 'unconfirmed' end,
          attempt = f.attempt + case d.before when 'waiting' then 1 else 0 end,
          claimed_at = case d.before when 'waiting' then now() else f.claimed_at end,
          request_sent_at = case d.before when 'waiting' then null else f.request_sent_at end,
          lost_at = case d.before when 'waiting' then null when 'sending' then now() else f.lost_at end,
          look_ups = case d.before when 'unconfirmed' then f.look_ups else 0 end,
          incarnation = ${incarnation},
          due_at = now() + ${FOLLOW_UP_CLAIM_MS}::float8 * interval '1 ms'
        from found d
        where f.id = d.id
        returning f.*, d.before`;

const followUpColumns = (sql: Sql): Fragment => sql`
        f.id, f.org_id as "orgId", f.post_id as "postId", f.kind, f.plug, f.channel_id as "channelId", f.attempt,
        f.incarnation, f.attempts_failed as "attemptsFailed", f.look_ups as "lookUps", f.claimed_at as "claimedAt",
        f.saved -> 'value' as saved, f.state = 'unconfirmed' as "isLost",
        coalesce(extract(epoch from now() - f.lost_at) * 1000, 0)::float8 as "unansweredMs",
        f.request_sent_at is not null as "mayHaveSent", coalesce(f.login_until <= now(), false) as "isLoginOver",
        f.circuit_since as "circuitSince",
        p.deleted_at is not null as "isDeleted", f.kind = 'first_comment'
          and ${hasOpenItems(sql, { org: sql`p.org_id`, root: sql`p.id` })} as "isThreadOpen",
        p.settings, coalesce(p.release_id, '') as "releaseId", coalesce(p.release_url, '') as "releaseUrl", p.released,
        json_build_object(
          'providerId', o.provider_id, 'providerVersion', o.provider_version, 'account', o.internal_id
        ) as network,
        case when c.id is not null then ${snapshot(sql)} end as channel, c.server_limits as "serverLimits",
        case when c.disabled then 'disabled' when c.refresh_needed then 'login' end as stop, k.fields,
        f.reply, case when f.kind = 'first_comment' then (
          select json_agg(json_build_object('url', l.url, 'short', l.short_url))
          from short_links l
          where l.org_id = f.org_id
            and l.post_id = f.post_id
        ) end as links`;

const followUpOf = ({ channel, ...row }: Read, heldSince: number): FollowUp => ({
  ...row,
  heldSince,
  channel: channel && {
    ...channel,
    tokenExpiresAt: channel.tokenExpiresAt === null ? null : new Date(channel.tokenExpiresAt),
  },
});

/** Holds where `findOverdueFollowUps` finds something, and may hold where it does not. */
export const followUpIsOverdue = (sql: Sql, graceMs: number): Fragment => sql`(
      exists (select from post_follow_ups f where f.due_at < now() - ${graceMs}::float8 * interval '1 ms')
      or exists (select from post_follow_ups f where ${isSilent(sql)})
      or exists (select from post_follow_ups f where ${isReady(sql)})
    )`;

/**
 * Posts of which a follow-up was due `graceMs` ago, whose host has fallen silent, or whose channel works again for which
 * it waited, dealt over organizations. `now`: by the database's clock.
 */
export const findOverdueFollowUps = (
  sql: Sql,
  { graceMs, limit }: { graceMs: number; limit: number },
): Promise<(FollowedPost & { now: Date })[]> => {
  const of = (joins: Fragment, condition: Fragment) =>
    dealt(
      sql,
      sql`
        select f.org_id as "orgId", f.post_id as "postId", f.due_at as at
        from post_follow_ups f
        ${joins}
        where ${condition}`,
      limit,
    );
  const withPostAndChannel = sql`join posts p on p.id = f.post_id and p.org_id = f.org_id
        join channels c on c.id = f.channel_id and c.org_id = f.org_id`;
  const isLate = sql`f.due_at < now() - ${graceMs}::float8 * interval '1 ms' and not ${isHeld(sql)}`;
  return sql<(FollowedPost & { now: Date })[]>`
  /* all orgs */
  select "orgId", "postId", now() as now
  from (
    ${of(withPostAndChannel, isLate)}
    union all
    ${of(sql``, isSilent(sql))}
    union all
    ${of(sql``, isReady(sql))}
  ) overdue
  group by "orgId", "postId"
  order by min(turn), min(at)
  limit ${limit}`;
};
