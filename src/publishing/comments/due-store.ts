import type { Fragment, Sql } from '../../platform/db/index.ts';
import { type ChannelSnapshot, snapshot } from '../posts/index.ts';

// Channels whose comments are read: each at its own moment of every interval, by the hash of its id, so that they are
// spread over it.

/** How long a read may take before another host makes it. */
export const CLAIM_SECONDS = 120;

/** The networks whose comments are read, each as `id@version`; `scarce`: of channels that ask for it. */
export interface ReadNetworks {
  free: readonly string[];
  scarce: readonly string[];
}

/** The comments of the channel `c` are read. */
const isRead = (sql: Sql, { free, scarce }: ReadNetworks): Fragment => sql`
      (c.deleted_at is null
        and not c.disabled
        and not c.refresh_needed
        and (
          c.provider_id || '@' || c.provider_version = any(${[...free]}::text[])
            and c.settings -> 'syncComments' is distinct from 'false'::jsonb
          or c.provider_id || '@' || c.provider_version = any(${[...scarce]}::text[])
            and c.settings -> 'syncComments' = 'true'::jsonb
        )
        and exists (
          select
          from organizations o
          where o.id = c.org_id
            and o.deleted_at is null
            and o.disabled_at is null
        ))`;

/** The next moment of the channel `id`. */
const nextMoment = (sql: Sql, id: Fragment, minutes: number): Fragment => {
  const interval = sql`${60 * minutes}::float8`;
  const offset = sql`((hashtext(${id}::text)::bigint & 2147483647) / 2147483648.0 * ${interval})`;
  return sql`to_timestamp(
        (floor((extract(epoch from now())::float8 - ${offset}) / ${interval}) + 1) * ${interval} + ${offset}
      )`;
};

/** Notes channels that are not read yet; their first moment is within one interval. */
export const declareSweeps = (sql: Sql, networks: ReadNetworks, minutes: number, limit: number) => sql`/* all orgs */
  insert into comment_sweeps (channel_id, org_id, next_run_at)
  select c.id, c.org_id, ${nextMoment(sql, sql`c.id`, minutes)}
  from channels c
  where ${isRead(sql, networks)}
    and not exists (
      select
      from comment_sweeps s
      where s.channel_id = c.id
    )
  limit ${limit}
  on conflict (channel_id) do nothing`;

/** A channel whose comments this host reads. */
export interface ClaimedSweep {
  orgId: string;
  channelId: string;
  claim: string;
  /** Posts of 30 days, in place of 7. */
  isWhole: boolean;
  handle: string;
  channel: ChannelSnapshot;
}
type Read = ClaimedSweep & {
  channel: Omit<ChannelSnapshot, 'tokenExpiresAt'> & { tokenExpiresAt: string | null };
};

/**
 * Claims at most `limit` channels that are due, and those that a dead host has left. A claimed channel is due when its
 * claim ends, so that an earlier moment is one that somebody has asked for meanwhile.
 */
export async function claimSweeps(
  sql: Sql,
  networks: ReadNetworks,
  minutes: number,
  limit: number,
): Promise<ClaimedSweep[]> {
  const rows = await sql<Read[]>`/* all orgs */
    with due as (
      select s.channel_id
      from comment_sweeps s
      join channels c on c.id = s.channel_id and c.org_id = s.org_id
      where s.next_run_at <= now()
        and (s.claimed_until is null or s.claimed_until < now())
        and ${isRead(sql, networks)}
      order by s.next_run_at
      limit ${limit}
      for no key update of s
      skip locked
    )
    update comment_sweeps s
    set claim = gen_random_uuid(),
      claimed_until = now() + ${CLAIM_SECONDS} * interval '1 second',
      next_run_at = now() + ${CLAIM_SECONDS} * interval '1 second'
    from due d
    join channels c on c.id = d.channel_id
    where s.channel_id = d.channel_id
    returning s.org_id as "orgId", s.channel_id as "channelId", s.claim, coalesce(
        s.whole_at <= now() - interval '1 day' + ${minutes}::float8 * interval '30 seconds', true) as "isWhole",
      c.handle, ${snapshot(sql)} as channel`;
  return rows.map(({ channel, ...row }) => ({
    ...row,
    channel: {
      ...channel,
      tokenExpiresAt: channel.tokenExpiresAt === null ? null : new Date(channel.tokenExpiresAt),
    },
  }));
}

type Claim = Pick<ClaimedSweep, 'orgId' | 'channelId' | 'claim'>;

/** Holds a claim until the transaction ends; false: it is another's now. */
export async function holdSweep(sql: Sql, { orgId, channelId, claim }: Claim): Promise<boolean> {
  const rows = await sql`
    select
    from comment_sweeps
    where org_id = ${orgId}
      and channel_id = ${channelId}
      and claim = ${claim}
    for no key update`;
  return rows.length > 0;
}

/**
 * Ends a read: the next one is at the next moment of the channel, or at once where somebody has asked for it since the
 * claim, and not before its network wants to be asked again. Who asked may have committed after this transaction began.
 */
export const endSweep = (
  sql: Sql,
  { orgId, channelId, claim }: Claim,
  { minutes, isWhole, againMs }: { minutes: number; isWhole: boolean; againMs: number },
) => sql`
  update comment_sweeps
  set claim = null,
    claimed_until = null,
    next_run_at = greatest(
      case
        when next_run_at <= clock_timestamp() then now()
        else ${nextMoment(sql, sql`channel_id`, minutes)}
      end,
      now() + ${againMs}::float8 * interval '1 ms'
    ),
    whole_at = case when ${isWhole} then now() else whole_at end
  where org_id = ${orgId}
    and channel_id = ${channelId}
    and claim = ${claim}`;

/** Has the comments of a channel read by the next round of the sweep. */
export const hastenSweep = (sql: Sql, orgId: string, channelId: string) => sql`
  insert into comment_sweeps (channel_id, org_id, next_run_at)
  values (${channelId}, ${orgId}, now())
  on conflict (channel_id) do update
  set next_run_at = least(comment_sweeps.next_run_at, now())
  where comment_sweeps.org_id = ${orgId}`;
