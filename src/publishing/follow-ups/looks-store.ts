import { dealt, type Fragment, type Sql } from '../../platform/db/index.ts';
import { braked, labelsOf, orgIsDisabled, published, snapshot, timeline } from '../posts/index.ts';
import type { ChannelSnapshot } from '../posts/index.ts';
import type { PlugValue } from './row.ts';

// A look is what an auto plug does again and again: the posts of its channel whose run is due. Run n of a post is at
// its publication + n intervals, so a late look delays no other. A configuration says up to where runs were made; what
// is between that and now is due, and no row is written for a post before something is done.

/** How long a look may take. */
const LOOK_SECONDS = 120;
/** Posts that one look takes in; the newest, should there ever be more. */
const MOST_POSTS = 1_000;
/** Plugs without an end look once a day after so long. */
const DAYS_AT_INTERVALS = 30;
const DAY_MS = 86_400_000;

interface LookedAt {
  orgId: string;
  channelId: string;
}

/** Channels with a look that is due, dealt over organizations. */
export const findDueLooks = (sql: Sql, limit: number): Promise<LookedAt[]> => sql<LookedAt[]>`
  /* all orgs */
  select "orgId", "channelId"
  from ${dealt(
    sql,
    sql`
        select org_id as "orgId", channel_id as "channelId", next_run_at as at
        from plug_configurations
        where next_run_at <= now()
          and (claimed_until is null or claimed_until < now())`,
    limit,
  )} due
  group by "orgId", "channelId"
  order by min(turn), min(at)`;

/** A configuration whose look was claimed; instants as the database writes them, to the microsecond. */
export interface Look extends LookedAt {
  id: string;
  claim: string;
  plug: string;
  fields: PlugValue[];
  ranUntil: string;
  until: string;
}
/** The due looks of one channel, which go together. */
export interface ClaimedLooks {
  looks: Look[];
  /** Null: the channel is deleted. */
  channel: ChannelSnapshot | null;
  /** The network of the channel, of one that is deleted too: it may come back. */
  network: Pick<ChannelSnapshot, 'providerId' | 'providerVersion'> | undefined;
  isStopped: boolean;
}

/** Claims the due looks of a channel, each if nobody else makes it. */
export async function claimLooks(sql: Sql, { orgId, channelId }: LookedAt, claim: string): Promise<ClaimedLooks> {
  const rows = await sql<
    (Look & {
      channel: (Omit<ChannelSnapshot, 'tokenExpiresAt'> & { tokenExpiresAt: string | null }) | null;
      network: NonNullable<ClaimedLooks['network']>;
      isStopped: boolean;
    })[]
  >`
    with claimed as (
      update plug_configurations k
      set claim = ${claim}, claimed_until = now() + ${LOOK_SECONDS} * interval '1 second'
      where k.org_id = ${orgId}
        and k.channel_id = ${channelId}
        and k.activated
        and k.next_run_at <= now()
        and (k.claimed_until is null or k.claimed_until < now())
      returning k.*
    )
    select k.id, k.org_id as "orgId", k.channel_id as "channelId", k.claim, k.plug_function as plug, k.fields,
      k.ran_until::text as "ranUntil", now()::text as until, coalesce(
        c.disabled or c.refresh_needed or ${braked(sql, { group: sql`''`, tags: sql`'{}'` })}
          or ${orgIsDisabled(sql)}, true) as "isStopped",
      json_build_object('providerId', n.provider_id, 'providerVersion', n.provider_version) as network,
      case when c.id is not null then ${snapshot(sql)} end as channel
    from claimed k
    join channels n on n.id = k.channel_id and n.org_id = k.org_id
    left join channels c on c.id = n.id and c.org_id = n.org_id and c.deleted_at is null`;
  const [first] = rows;
  return {
    looks: rows,
    isStopped: first?.isStopped ?? true,
    network: first?.network,
    channel: first?.channel
      ? {
          ...first.channel,
          tokenExpiresAt: first.channel.tokenExpiresAt === null ? null : new Date(first.channel.tokenExpiresAt),
        }
      : null,
  };
}

/** How often a plug looks; `totalRuns` 0: without end. */
export interface Rhythm {
  everyMs: number;
  totalRuns: number;
}

/** The CTE `ages (age)`: how old a post is at each of its runs. */
const agesOf = (sql: Sql, { everyMs, totalRuns }: Rhythm, { orgId, channelId }: LookedAt): Fragment => sql`
    ages as materialized (
      select n * ${everyMs}::float8 * interval '1 ms' as age
      from generate_series(1, ${totalRuns || Math.floor((DAYS_AT_INTERVALS * DAY_MS) / everyMs)}::int) n
      union all
      select (${DAYS_AT_INTERVALS}::int + d) * interval '24 hours'
      from generate_series(1, case when ${totalRuns}::int > 0 then 0 else 1 + coalesce((
        select extract(day from now() - min(published_at))::int
        from posts p
        where p.org_id = ${orgId}
          and p.channel_id = ${channelId}
          and ${published(sql)}
      ), 0) end) d
    )`;

/** A post whose run is due, as its network knows it. */
export interface LookedPost {
  id: string;
  release: { id: string; url: string; saved?: unknown };
}

/**
 * The posts of the channel with a run since the last look, in which the configuration has done nothing yet. A run that
 * falls into a brake of its campaign or group is not made up for.
 */
export const postsOfLook = (sql: Sql, look: Look, rhythm: Rhythm): Promise<LookedPost[]> => sql<LookedPost[]>`
    with ${agesOf(sql, rhythm, look)}
    select p.id, jsonb_strip_nulls(jsonb_build_object('id', p.release_id, 'url', coalesce(p.release_url, ''),
        'saved', p.released)) as release
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.id in (
        select q.id
        from ages a
        join posts q
          on q.org_id = ${look.orgId}
          and q.channel_id = ${look.channelId}
          and ${published(sql, 'q')}
          and q.published_at > ${look.ranUntil}::text::timestamptz - a.age
          and q.published_at <= ${look.until}::text::timestamptz - a.age
      )
      and p.org_id = ${look.orgId}
      and p.release_id <> ''
      and not ${braked(sql, labelsOf(sql))}
      and not exists (
        select
        from post_follow_ups f
        where f.post_id = p.id
          and f.kind = 'auto_plug'
          and f.key = ${look.id}::text
      )
    order by p.published_at desc
    limit ${MOST_POSTS}`;

/** What came of a look. */
export interface LookResult {
  /** Runs that were made. */
  runs: number;
  /** The posts on which the plug acts. */
  actOn: readonly string[];
  /** The posts whose likes the network does not tell, with its reason. */
  uncounted: readonly { id: string; reason: string }[];
}

/**
 * Ends a look, while it is the claim's own: its runs are made, what is to be done is written as follow-ups, once for
 * each post, a post that cannot be counted is told so in its timeline, once for each plug, and the next look is at the next run of a post. One that is published meanwhile has its first run only
 * after a whole interval, which is when the next look is at the latest.
 */
export async function endLook(
  sql: Sql,
  look: Look,
  rhythm: Rhythm,
  { runs, actOn, uncounted }: LookResult,
): Promise<boolean> {
  const rows = await sql`
    with ${agesOf(sql, rhythm, look)}, ended as (
      update plug_configurations k
      set ran_until = ${look.until}::text::timestamptz,
        runs = k.runs + ${runs}::int,
        last_run_at = case when ${runs}::int > 0 then now() else k.last_run_at end,
        claim = null,
        claimed_until = null,
        next_run_at = least(${look.until}::text::timestamptz + ${rhythm.everyMs}::float8 * interval '1 ms', (
          select min(p.published_at + a.age)
          from ages a
          cross join lateral (
            select q.published_at
            from posts q
            where q.org_id = k.org_id
              and q.channel_id = k.channel_id
              and ${published(sql, 'q')}
              and q.published_at > ${look.until}::text::timestamptz - a.age
            order by q.published_at
            limit 1
          ) p
        ))
      where k.org_id = ${look.orgId}
        and k.id = ${look.id}
        and k.claim = ${look.claim}
        and k.activated
      returning k.*
    ), planned as (
      insert into post_follow_ups (org_id, post_id, kind, key, plug, channel_id, due_at)
      select e.org_id, p.id, 'auto_plug', e.id::text, e.plug_function, e.channel_id, now()
      from ended e
      join posts p on p.org_id = e.org_id and p.id = any(${[...actOn]}::uuid[]) and p.deleted_at is null
      on conflict (post_id, kind, key) do nothing
    ), untold as (
      select e.org_id, p.id, e.plug_function, e.channel_id, u.reason
      from ended e
      cross join unnest(${uncounted.map(({ id }) => id)}::uuid[], ${uncounted.map(({ reason }) => reason)}::text[])
        as u (post_id, reason)
      join posts p on p.org_id = e.org_id and p.id = u.post_id and p.deleted_at is null
      where not exists (
        select
        from post_timeline t
        where t.post_id = p.id
          and t.kind = 'plug'
          and t.data ->> 'plug' = e.plug_function
          and t.data ->> 'uncounted' = 'true'
      )
    ), ${timeline(sql, {
      from: sql`untold`,
      kind: 'plug',
      message: sql`'The network does not tell the likes of the post, so the plug does not act: ' || reason`,
      data: sql`jsonb_build_object('plug', plug_function, 'integrationId', channel_id, 'uncounted', true)`,
    })}
    select id
    from ended`;
  return rows.length > 0;
}

/** Lets go of looks that could not be made, for whoever makes them after so long. */
export const leaveLooks = (sql: Sql, looks: readonly Look[], againMs: number) => sql`
  update plug_configurations k
  set claim = null, claimed_until = null, next_run_at = now() + ${againMs}::float8 * interval '1 ms'
  from unnest(
    ${looks.map(({ orgId }) => orgId)}::uuid[], ${looks.map(({ id }) => id)}::uuid[],
    ${looks.map(({ claim }) => claim)}::uuid[]
  ) as t (org_id, id, claim)
  where k.org_id = t.org_id
    and k.id = t.id
    and k.claim = t.claim
    and k.activated`;
