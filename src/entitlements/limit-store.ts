import type { Fragment, Sql } from '../platform/db/index.ts';
import { type Overrides, type Packs, StoredOverrides } from './limits.ts';
import type { Dimension, Tier } from './plans.ts';
import type { Counted } from './over-limit.ts';
import type { Facts } from './entitlement.ts';

/** Columns of the org's row in `org_counters`; null where nothing has been counted. */
export interface Counters {
  anchor: Date | null;
  monthStart: Date | null;
  posts: number;
  storageBytes: number;
}
export interface FoundEntitlement {
  facts: Facts;
  counters: Counters;
  /** Another one as soon as the rows that the limits come from were written (`org_counters.entitlement_version`). */
  entitlementVersion: string;
}

interface Row {
  now: Date;
  orgCreatedAt: Date;
  overrides: unknown;
  entitlementVersion: string;
  tier: Tier | null;
  createdAt: Date;
  graceEndsAt: Date | null;
  isLifetime: boolean;
  isTrial: boolean;
  packs: Packs;
  anchor: Date | null;
  monthStart: Date | null;
  posts: number | null;
  storageBytes: number | null;
}

/**
 * Finds the rows that the limits of an org come from, and its counters; undefined: there is no such org. The time is
 * that of the look: that of the transaction is older where it waited for the lock, and may lie in the month before.
 */
export async function findEntitlementFacts(sql: Sql, orgId: string): Promise<FoundEntitlement | undefined> {
  const [row] = await sql<Row[]>`
    select clock_timestamp() as now, o.created_at as "orgCreatedAt", o.limit_overrides as overrides,
      coalesce(c.entitlement_version, 0)::text as "entitlementVersion",
      s.tier, s.created_at as "createdAt", s.grace_period_end as "graceEndsAt", s.is_lifetime as "isLifetime",
      s.is_trial as "isTrial",
      jsonb_build_object('channel', s.extra_channels, 'team_members', s.extra_team_seats, 'posts_per_month',
        s.extra_posts, 'brand_kits', s.extra_brand_kits,
        'webhooks', s.extra_webhooks, 'competitors', s.extra_competitors, 'storage_gb', s.extra_storage,
        'video_exports', s.extra_video_exports) as packs,
      c.month_anchor as anchor, c.month_start as "monthStart", c.posts, c.storage_bytes::float8 as "storageBytes"
    from organizations o
    left join subscriptions s on s.org_id = o.id
    left join org_counters c on c.org_id = o.id
    where o.id = ${orgId}`;
  if (!row) return undefined;
  const {
    now,
    orgCreatedAt,
    entitlementVersion,
    tier,
    createdAt,
    graceEndsAt,
    isLifetime,
    isTrial,
    packs,
    anchor,
    monthStart,
  } = row;
  return {
    facts: {
      now,
      orgCreatedAt,
      overrides: StoredOverrides.parse(row.overrides) as Overrides,
      subscription: tier && { tier, createdAt, graceEndsAt, isLifetime, isTrial, packs },
    },
    counters: { anchor, monthStart, posts: row.posts ?? 0, storageBytes: row.storageBytes ?? 0 },
    entitlementVersion,
  };
}

/**
 * Locks what counts for an org until the transaction ends: the org's own row first, as whoever changes it does, then
 * its counters.
 */
export async function lockCounters(sql: Sql, orgId: string): Promise<void> {
  await sql`select from organizations where id = ${orgId} for no key update`;
  const lock = () => sql`select from org_counters where org_id = ${orgId} for no key update`;
  if ((await lock()).count > 0) return;
  await sql`insert into org_counters (org_id) select id from organizations where id = ${orgId} on conflict do nothing`;
  await lock();
}

/**
 * The posts that an org has created since `start`; a thread is one. Deleted ones were created all the same; one that
 * waits for room in the plan counts when there is some.
 */
export async function countPosts(sql: Sql, orgId: string, start: Date): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n
    from posts
    where org_id = ${orgId}
      and root_post_id is null
      and created_at >= ${start}
      and (detail is distinct from 'paused' or error_kind is distinct from 'billing_required')`;
  return row!.n;
}

/** Begins a billing month of an org's posts; under its lock. */
export const beginMonth = (sql: Sql, orgId: string, month: { anchor: Date; start: Date; posts: number }) => sql`
  update org_counters
  set month_anchor = ${month.anchor}, month_start = ${month.start}, posts = ${month.posts}
  where org_id = ${orgId}`;

/** Without billing nobody counts posts: where it was on before, they are counted anew when it is on again. */
export const forgetMonths = (sql: Sql) =>
  sql`update org_counters /* all orgs */ set month_anchor = null, month_start = null where month_anchor is not null`;

/**
 * Without billing nobody owes anything; where it is on again, an org that has not paid is as it was with the next
 * sweep, while it has its subscription.
 */
export async function forgetLapses(sql: Sql): Promise<void> {
  await sql`update subscriptions /* all orgs */ set lapsed = false, grace_due_at = grace_period_end where lapsed`;
  await sql`update organizations /* all orgs */ set unpaid_since = null where unpaid_since is not null`;
}

/** A channel counts while it can publish. */
const counts = (sql: Sql) => sql`deleted_at is null and not disabled and not refresh_needed`;

export const countedChannels = (sql: Sql, orgId: string) =>
  sql<Counted[]>`select id, name, created_at as "createdAt" from channels where org_id = ${orgId} and ${counts(sql)}`;

/** The oldest owner who can act is kept: with one who is locked out nobody could help the org. */
export const countedMembers = (sql: Sql, orgId: string) => sql<Counted[]>`
  select u.id, coalesce(nullif(trim(p.name || ' ' || p.last_name), ''), u.email) as name, m.created_at as "createdAt",
    m.role_key = 'owner' and row_number() over (
      partition by m.role_key
      order by u.activated desc, m.created_at, m.user_id
    ) = 1 as kept
  from memberships m
  join users u on u.id = m.user_id
  left join user_profiles p on p.user_id = u.id
  where m.org_id = ${orgId}
    and not m.disabled`;

/** The overrides of an org, locked against another change. */
export async function overridesForUpdate(sql: Sql, orgId: string): Promise<Overrides | undefined> {
  const [row] = await sql<{ overrides: unknown }[]>`
    select limit_overrides as overrides
    from organizations
    where id = ${orgId}
      and deleted_at is null
    for no key update`;
  return row && (StoredOverrides.parse(row.overrides) as Overrides);
}
export const writeOverrides = (sql: Sql, orgId: string, overrides: Overrides) =>
  sql`update organizations set limit_overrides = ${JSON.stringify(overrides)}::text::jsonb where id = ${orgId}`;

type Rows = Exclude<Dimension, 'posts_per_month' | 'storage_gb'>;
/** The statements that count the rows of a dimension. */
const ROWS: Readonly<Record<Rows, (sql: Sql, orgId: string, since: Date) => Fragment>> = {
  channel: (sql, orgId) => sql`select count(*)::int as n from channels where org_id = ${orgId} and ${counts(sql)}`,
  team_members: (sql, orgId) =>
    sql`select count(*)::int as n from memberships where org_id = ${orgId} and not disabled`,
  brand_kits: (sql, orgId) => sql`select count(*)::int as n from brand_kits where org_id = ${orgId}`,
  competitors: (sql, orgId) => sql`select count(*)::int as n from competitors where org_id = ${orgId}`,
  webhooks: (sql, orgId) => sql`select count(*)::int as n from webhooks where org_id = ${orgId} and deleted_at is null`,
  video_exports: (sql, orgId, since) => sql`
    select count(*)::int as n
    from credits
    where org_id = ${orgId} and type = 'video_export' and created_at >= ${since}`,
};

/** Counts the rows of a dimension; of one that is counted by the month those since its `start`. */
export async function countRows(
  sql: Sql,
  orgId: string,
  dimension: Rows,
  { start = new Date(0) }: { start?: Date } = {},
): Promise<number> {
  const [row] = await sql<{ n: number }[]>`${ROWS[dimension](sql, orgId, start)}`;
  return row!.n;
}
