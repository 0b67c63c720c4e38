import type { Subscribed } from '../../entitlements/index.ts';
import type { Permission } from '../../people/access/index.ts';
import type { Sql } from '../../platform/db/index.ts';

export interface FeedKey {
  orgId: string;
  userId: string;
  channelId: string;
}
/** Whose feed it is, with the rights that they have now. */
export interface FeedHolder extends FeedKey, Subscribed {
  roleKey: string;
  granted: Permission[] | null;
  isSuperAdmin: boolean;
}

/** Stores the feed of a person; a token that they had before opens nothing any more. */
export const putFeed = (sql: Sql, { orgId, userId, channelId }: FeedKey, tokenHash: Buffer) => sql`
  insert into calendar_feeds (channel_id, user_id, org_id, token_hash)
  values (${channelId}, ${userId}, ${orgId}, ${tokenHash})
  on conflict (channel_id, user_id) do update
    set token_hash = excluded.token_hash, created_at = now()
    where calendar_feeds.org_id = excluded.org_id`;

/** False: there was none. */
export async function deleteFeed(sql: Sql, { orgId, userId, channelId }: FeedKey): Promise<boolean> {
  const { count } = await sql`
    delete from calendar_feeds
    where org_id = ${orgId}
      and channel_id = ${channelId}
      and user_id = ${userId}`;
  return count > 0;
}

/** The channels whose feeds show what a user may read, in any org. */
export const feedNamesOf = (sql: Sql, userId: string) => sql<{ name: string; orgName: string }[]>`/* all orgs */
  select c.name, o.name as "orgName"
  from calendar_feeds f
  join channels c on c.id = f.channel_id and c.org_id = f.org_id and c.deleted_at is null
  join organizations o on o.id = f.org_id and o.deleted_at is null
  where f.user_id = ${userId}
  order by f.created_at desc
  limit 100`;
export const deleteFeedsOf = (sql: Sql, userId: string) =>
  sql`/* all orgs */ delete from calendar_feeds where user_id = ${userId}`;

/** Undefined: there is no such token, or its owner is no active member of an organization in use any more. */
export async function findFeedHolder(sql: Sql, tokenHash: Buffer): Promise<FeedHolder | undefined> {
  const [holder] = await sql<FeedHolder[]>`/* all orgs */
    select f.org_id as "orgId", f.user_id as "userId", f.channel_id as "channelId", m.role_key as "roleKey",
      r.permissions as granted, u.is_super_admin as "isSuperAdmin", s.tier, s.grace_period_end as "graceEndsAt"
    from calendar_feeds f
    join memberships m on m.org_id = f.org_id and m.user_id = f.user_id and not m.disabled
    left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
    join users u on u.id = f.user_id and u.activated and u.deleted_at is null
    join organizations o on o.id = f.org_id and o.disabled_at is null and o.deleted_at is null
    left join subscriptions s on s.org_id = o.id
    where f.token_hash = ${tokenHash}`;
  return holder;
}
