import { type Fragment, groupCommit, type Sql } from '../../platform/db/index.ts';

export interface DeviceRow {
  id: string;
  token: string;
  platform: PushPlatform;
  deviceName: string | null;
}
export const PUSH_PLATFORMS = ['ios', 'android', 'web'] as const;
export type PushPlatform = (typeof PUSH_PLATFORMS)[number];
/** The service that a push goes to: Firebase, or that of a browser. */
export type PushWay = 'fcm' | 'web-push';

interface NewDevice extends DeviceRow {
  userId: string;
  sessionId: string;
  via: PushWay;
  hash: Buffer;
}

/** The session that registered token `t` goes on: the device belongs to its user (S237). */
const isHeld = (sql: Sql) => sql`exists (
      select
      from sessions s
      where s.id = t.session_id
        and s.revoked_at is null
        and s.expires_at > now()
    )`;

/** Registers a device, again for the same user; undefined while it is somebody else's (NO1). */
export async function upsertDevice(sql: Sql, token: NewDevice): Promise<DeviceRow | undefined> {
  const [row] = await sql<DeviceRow[]>`/* all orgs */
    insert into push_tokens as t (id, user_id, session_id, token, token_hash, via, platform, device_name)
    values (${token.id}, ${token.userId}, ${token.sessionId}, ${token.token}, ${token.hash}, ${token.via},
      ${token.platform}, ${token.deviceName})
    on conflict (token_hash) do update
      set user_id = excluded.user_id, session_id = excluded.session_id, token = excluded.token,
        platform = excluded.platform,
        device_name = excluded.device_name, disabled_at = null, registered_at = clock_timestamp()
      where t.user_id = excluded.user_id
        or not ${isHeld(sql)}
    returning t.id, t.token, t.platform, t.device_name as "deviceName"`;
  return row;
}

/** Forgets what waits for a device that was somebody else's until now. */
export const deletePushesOfOthers = (sql: Sql, userId: string, hash: Buffer) => sql`/* all orgs */
  delete from pushes p
  using push_tokens t
  where p.token_id = t.id
    and t.token_hash = ${hash}
    and t.user_id <> ${userId}`;

/** One registration of a user after the other, so that they count. */
export const lockDevices = (sql: Sql, userId: string) =>
  sql`select from user_profiles where user_id = ${userId} for no key update`;

/** Forgets what a user registered before the newest `most`. */
export const deleteOldestDevices = (sql: Sql, userId: string, most: number) => sql`/* all orgs */
  delete from push_tokens
  where user_id = ${userId}
    and id in (
      select id
      from push_tokens
      where user_id = ${userId}
      order by registered_at desc, id desc
      offset ${most}
    )`;

export const deletePushDevice = (sql: Sql, userId: string, hash: Buffer) => sql`/* all orgs */
  delete from push_tokens
  where user_id = ${userId}
    and token_hash = ${hash}`;

export interface NewPush {
  userId: string;
  /** The organization that it tells of; null where there are several. */
  orgId: string | null;
  category: string;
  title: string;
  content: string;
  link: string | null;
}

/** Stands for pushes of several organizations; the search for owners begins behind it. */
export const NO_OWNER = '00000000-0000-0000-0000-000000000000';

/** Queues each push for every device of its user that one of the ways leads to. */
export const insertPushes = (sql: Sql, pushes: readonly NewPush[], ways: readonly PushWay[]) => sql`/* all orgs */
  insert into pushes (id, token_id, owner_id, category, title, content, link)
  select gen_random_uuid(), t.id, coalesce(p.org_id, ${NO_OWNER}), p.category, p.title, p.content, p.link
  from unnest(${pushes.map(({ userId }) => userId)}::uuid[], ${pushes.map(({ orgId }) => orgId)}::uuid[],
    ${pushes.map(({ category }) => category)}::text[],
    ${pushes.map(({ title }) => title)}::text[], ${pushes.map(({ content }) => content)}::text[],
    ${pushes.map(({ link }) => link)}::text[]) as p (user_id, org_id, category, title, content, link)
  join push_tokens t on t.user_id = p.user_id and t.disabled_at is null and ${isHeld(sql)}
    and t.via = any(${[...ways]}::text[])`;

export interface ClaimedPush {
  id: string;
  tokenId: string;
  token: string;
  via: PushWay;
  platform: PushPlatform;
  category: string;
  title: string;
  content: string;
  link: string | null;
  attempts: number;
}

/**
 * `isHeld`: the session that registered the device goes on; else whoever has it now must not read this. `registeredAt`:
 * when the device registered, as the database writes it.
 */
export type DuePush = ClaimedPush & { isHeld: boolean; registeredAt: string };

/** The organization behind another, whether something of it is due or not; behind the last one comes the first. */
const nextOwner = (sql: Sql, after: Fragment) => sql`
    select coalesce((
      select owner_id
      from pushes
      where owner_id > ${after}
      order by owner_id
      limit 1
    ), (
      select owner_id
      from pushes
      order by owner_id
      limit 1
    ))`;

/**
 * Takes what is due, each for one attempt: one of each organization from the one behind `after` on, then a second of
 * each, so that none holds up another. Places that are left, because little of those is due, go to what has been due
 * for the longest, whoever's it is. The cost depends on `limit` alone. `last`: the organization to begin behind the
 * next time. After `leaseSeconds` without a word whoever asks may take a push again.
 */
export const claimDuePushes = (
  sql: Sql,
  { limit, leaseSeconds, after }: { limit: number; leaseSeconds: number; after: string },
) => sql<(DuePush & { last: string })[]>`/* all orgs */
  with recursive owners (owner) as (${nextOwner(sql, sql`${after}::uuid`)}
    union -- ends where it comes around, and before, where no more are asked for
    ${nextOwner(sql, sql`o.owner`)}
    from owners o
  ), visited as materialized (
    select owner, row_number() over () as n
    from (select owner from owners limit ${limit}) o
  ), share as (
    select ceil(${limit}::float8 / greatest(1, count(*))) as pushes
    from visited
  ), dealt as materialized (
    select due.id, due.round, v.n
    from visited v
    cross join lateral (
      select id, row_number() over (order by next_attempt_at) as round
      from (
        select id, next_attempt_at
        from pushes
        where owner_id = v.owner
          and next_attempt_at <= now()
        order by next_attempt_at
        limit (select pushes from share)
        for update
        skip locked
      ) own
    ) due
    order by due.round, v.n
    limit ${limit}
  ), longest_due as materialized (
    select id
    from pushes
    where next_attempt_at <= now()
      and attempts >= 0 -- always, and for its index
      and id <> all(array(select id from dealt))
    order by next_attempt_at
    limit ${limit} - (select count(*) from dealt)
    for update
    skip locked
  ), claimed as (
    update pushes p
    set attempts = p.attempts + 1, next_attempt_at = now() + ${leaseSeconds}::float8 * interval '1 s'
    from push_tokens t
    where p.id = any(array(select id from dealt union all select id from longest_due))
      and t.id = p.token_id
    returning p.id, p.token_id as "tokenId", t.token, t.via, t.platform, p.category, p.title, p.content, p.link,
      p.attempts, t.registered_at::text as "registeredAt", ${isHeld(sql)} as "isHeld", p.created_at
  )
  select id, "tokenId", token, via, platform, category, title, content, link, attempts, "registeredAt", "isHeld",
    (select owner from visited order by n desc limit 1) as last
  from claimed
  left join dealt using (id)
  order by round, n, created_at`;

/** Makes claimed pushes of which no attempt was made due again, the oldest first. */
export const releasePushes = (sql: Sql, pushes: readonly Pick<ClaimedPush, 'id' | 'attempts'>[]) => sql`/* all orgs */
  update pushes p
  set attempts = p.attempts - 1, next_attempt_at = p.created_at
  from unnest(${pushes.map(({ id }) => id)}::uuid[], ${pushes.map(({ attempts }) => attempts)}::int[])
    as c (id, attempts)
  where p.id = c.id
    and p.attempts = c.attempts`;

/** Outcomes that come within this time are written together. Until then a crash has what was sent sent again. */
const TOGETHER = { gatherMs: 5 };

/** Forgets a push that is over, together with others. */
export const deletePush = groupCommit<string, void>(async (sql, ids) => {
  await sql`/* all orgs */ delete from pushes where id = any(${[...ids]}::uuid[])`;
  return ids.map(() => undefined);
}, TOGETHER);

/** Gives up pushes that waited for an hour: they are worth nothing any more. At most `limit`; answers which. */
export const dropOldPushes = (sql: Sql, limit: number) => sql<{ id: string }[]>`/* all orgs */
  delete from pushes
  where id = any(array(
    select id
    from pushes
    where created_at < now() - interval '1 hour'
    order by created_at
    limit ${limit}
    for update
    skip locked
  ))
  returning id`;

/** Lets a push wait for its next attempt, together with others. */
export const retryPush = groupCommit<Pick<ClaimedPush, 'id' | 'attempts'> & { inMs: number }, void>(
  async (sql, pushes) => {
    await sql`/* all orgs */
      update pushes p
      set next_attempt_at = now() + r.in_ms * interval '1 ms'
      from unnest(${pushes.map(({ id }) => id)}::uuid[], ${pushes.map(({ attempts }) => attempts)}::int[],
        ${pushes.map(({ inMs }) => inMs)}::float8[]) as r (id, attempts, in_ms)
      where p.id = r.id
        and p.attempts = r.attempts`;
    return pushes.map(() => undefined);
  },
  TOGETHER,
);

/**
 * The push service does not know the device: nothing more is sent there until it registers again (NO31). One that has
 * registered since the push was claimed is known again: only that push is over.
 */
export const disableDevice = groupCommit<Pick<DuePush, 'id' | 'tokenId' | 'token' | 'registeredAt'>, void>(
  async (sql, pushes) => {
    const devices = pushes.toSorted((a, b) => (a.tokenId < b.tokenId ? -1 : 1)); // in one order, so that none deadlock
    const ids = devices.map(({ tokenId }) => tokenId);
    await sql`/* all orgs */
    with disabled as (
      update push_tokens t
      set disabled_at = now()
      from unnest(${ids}::uuid[], ${devices.map(({ token }) => token)}::text[],
        ${devices.map(({ registeredAt }) => registeredAt)}::text[]) as d (id, token, registered_at)
      where t.id = d.id
        and t.token = d.token
        and t.registered_at = d.registered_at::timestamptz
      returning t.id
    )
    delete from pushes
    where id = any(${devices.map(({ id }) => id)}::uuid[])
      or token_id in (select id from disabled)`;
    return pushes.map(() => undefined);
  },
  TOGETHER,
);
