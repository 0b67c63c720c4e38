import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { Dimension, Tier } from '../../entitlements/index.ts';
import type { Paid, Period } from './subscription-rules.ts';

export interface SubscriptionRow {
  id: string;
  organizationId: string;
  tier: Tier;
  period: Period;
  identifier: string;
  processorId: string | null;
  totalChannels: number;
  extraStorage: number;
  extraVideoExports: number;
  extraChannels: number;
  extraTeamSeats: number;
  extraPosts: number;
  extraBrandKits: number;
  extraWebhooks: number;
  extraCompetitors: number;
  limitOverrides: Record<string, number>;
  pendingTier: Tier | null;
  pendingFrom: Date | null;
  gracePeriodEnd: Date | null;
  isLifetime: boolean;
  isTrial: boolean;
  trialEndsAt: Date | null;
  cancelAt: Date | null;
  feedbackAt: Date | null;
  currentPeriodEnd: Date | null;
  createdAt: Date;
  updatedAt: Date;
  deletedAt: Date | null;
}
/** A subscription at the processor that we have heard of. */
export interface KnownSubscription {
  id: string;
  orgId: string;
  addon: Dimension | null;
  packs: number;
  cancelAt: Date | null;
  /** Its last invoice could not be collected. */
  owing: boolean;
  startedAt: Date;
  lastEventAt: Date | null;
  changedAt: Date | null;
  endedAt: Date | null;
  version: number;
}

const columns = (sql: Sql): Fragment => sql`
  s.id, s.org_id as "organizationId", s.tier, s.period, s.identifier, s.processor_id as "processorId",
  s.total_channels as "totalChannels",
  s.extra_storage as "extraStorage", s.extra_video_exports as "extraVideoExports", s.extra_channels as "extraChannels",
  s.extra_team_seats as "extraTeamSeats",
  s.extra_posts as "extraPosts", s.extra_brand_kits as "extraBrandKits", s.extra_webhooks as "extraWebhooks",
  s.extra_competitors as "extraCompetitors",
  s.pending_tier as "pendingTier", s.pending_from as "pendingFrom", s.grace_period_end as "gracePeriodEnd",
  s.is_lifetime as "isLifetime",
  s.is_trial as "isTrial", s.trial_ends_at as "trialEndsAt", s.cancel_at as "cancelAt", s.feedback_at as "feedbackAt",
  s.current_period_end as "currentPeriodEnd",
  s.created_at as "createdAt", s.updated_at as "updatedAt", s.deleted_at as "deletedAt"`;

export async function findSubscription(sql: Sql, orgId: string): Promise<SubscriptionRow | undefined> {
  const [row] = await sql<SubscriptionRow[]>`
    select ${columns(sql)}, o.limit_overrides as "limitOverrides"
    from subscriptions s
    join organizations o on o.id = s.org_id
    where s.org_id = ${orgId}`;
  return row;
}

export interface PlanState {
  id: string;
  tier: Tier;
  period: Period;
  identifier: string;
  processorId: string | null;
  totalChannels: number;
  pendingTier: Tier | null;
  pendingFrom: Date | null;
  isLifetime: boolean;
  isTrial: boolean;
  trialEndsAt: Date | null;
  cancelAt: Date | null;
  currentPeriodEnd: Date | null;
}
/**
 * The org's only row: made, or turned into this; what is anchored at its making stays. The org has had its trial then
 * (BI13), and owes nothing of a plan that ended before.
 */
export async function savePlan(sql: Sql, orgId: string, plan: PlanState): Promise<void> {
  await sql`
    with tried as (
      update organizations
      set allow_trial = false, unpaid_since = null
      where id = ${orgId}
        and (allow_trial or unpaid_since is not null)
    )
    insert into subscriptions (id, org_id, tier, period, identifier, processor_id, total_channels, pending_tier,
      pending_from, is_lifetime, is_trial, trial_ends_at, cancel_at, current_period_end)
    values (${plan.id}, ${orgId}, ${plan.tier}, ${plan.period}, ${plan.identifier}, ${plan.processorId},
      ${plan.totalChannels}, ${plan.pendingTier}, ${plan.pendingFrom},
      ${plan.isLifetime}, ${plan.isTrial}, ${plan.trialEndsAt}, ${plan.cancelAt}, ${plan.currentPeriodEnd})
    on conflict (org_id) do update set tier = excluded.tier, period = excluded.period, identifier = excluded.identifier,
      processor_id = excluded.processor_id,
      total_channels = excluded.total_channels, pending_tier = excluded.pending_tier,
      pending_from = excluded.pending_from, is_lifetime = excluded.is_lifetime,
      is_trial = excluded.is_trial, trial_ends_at = excluded.trial_ends_at, cancel_at = excluded.cancel_at,
      current_period_end = excluded.current_period_end, updated_at = now()`;
}

/** Hard-deletes the row (BI28). What was queued before it lapsed waits for a payment all the same (S80). */
export async function dropPlan(sql: Sql, orgId: string): Promise<void> {
  await sql`
    with ended as (
      delete from subscriptions
      where org_id = ${orgId}
      returning org_id, lapsed, grace_period_end
    )
    update organizations o
    set unpaid_since = e.grace_period_end
    from ended e
    where o.id = e.org_id
      and e.lapsed`;
}

/** The `extra*` columns from the packs that run (BI55). */
export const sumPacks = (sql: Sql, orgId: string) => sql`
  with packs as (
    select addon, sum(packs)::int as n
    from payment_subscriptions
    where org_id = ${orgId}
      and addon is not null
      and ended_at is null
    group by addon
  ), extra as (
    select coalesce(sum(n) filter (where addon = 'storage_gb'), 0) as storage,
      coalesce(sum(n) filter (where addon = 'video_exports'), 0) as video_exports,
      coalesce(sum(n) filter (where addon = 'channel'), 0) as channels,
      coalesce(sum(n) filter (where addon = 'team_members'), 0) as team_seats,
      coalesce(sum(n) filter (where addon = 'posts_per_month'), 0) as posts,
      coalesce(sum(n) filter (where addon = 'brand_kits'), 0) as brand_kits,
      coalesce(sum(n) filter (where addon = 'webhooks'), 0) as webhooks,
      coalesce(sum(n) filter (where addon = 'competitors'), 0) as competitors
    from packs
  )
  update subscriptions s
  set extra_storage = e.storage, extra_video_exports = e.video_exports, extra_channels = e.channels,
    extra_team_seats = e.team_seats,
    extra_posts = e.posts, extra_brand_kits = e.brand_kits, extra_webhooks = e.webhooks,
    extra_competitors = e.competitors, updated_at = now()
  from extra e
  where s.org_id = ${orgId}
    and (s.extra_storage, s.extra_video_exports, s.extra_channels, s.extra_team_seats, s.extra_posts,
      s.extra_brand_kits, s.extra_webhooks, s.extra_competitors)
      is distinct from (e.storage, e.video_exports, e.channels, e.team_seats, e.posts, e.brand_kits, e.webhooks,
        e.competitors)`;

/** Starts the grace period unless it runs; answers its end when it did. The first notice is due at once. */
export async function startGrace(
  sql: Sql,
  orgId: string,
  days: number,
  nextNoticeDays: number,
): Promise<Date | undefined> {
  const [row] = await sql<{ end: Date }[]>`
    update subscriptions
    set grace_period_end = now() + ${days}::float8 * interval '1 day', grace_notices = 1,
      grace_due_at = now() + ${nextNoticeDays}::float8 * interval '1 day', updated_at = now()
    where org_id = ${orgId}
      and grace_period_end is null
      and not is_lifetime
    returning grace_period_end as end`;
  return row?.end;
}
/**
 * Ends the grace period, because what was owed is paid; undefined when there is none. `wasOver`: nothing was paid for,
 * whether that was told already or not.
 */
export async function endGrace(sql: Sql, orgId: string): Promise<{ wasOver: boolean } | undefined> {
  const [row] = await sql<{ wasOver: boolean }[]>`
    with before as (
      select id, lapsed or grace_period_end <= clock_timestamp() as was_over
      from subscriptions
      where org_id = ${orgId}
        and grace_period_end is not null
    )
    update subscriptions s
    set grace_period_end = null, grace_notices = 0, grace_due_at = null, lapsed = false, updated_at = now()
    from before
    where s.id = before.id
    returning before.was_over as "wasOver"`;
  return row;
}

/** Notes that feedback to a cancellation was given or withdrawn; true the first time. */
export async function noteFeedback(sql: Sql, orgId: string, given: boolean): Promise<boolean> {
  const rows = await sql`
    update subscriptions
    set feedback_at = ${given ? sql`now()` : null}
    where org_id = ${orgId}
      and feedback_at is ${given ? sql`null` : sql`not null`}
    returning 1`;
  return rows.length > 0;
}

export const startPending = (sql: Sql, orgId: string, totalChannels: number) => sql`
  update subscriptions
  set tier = pending_tier, total_channels = ${totalChannels}, pending_tier = null, pending_from = null,
    updated_at = now()
  where org_id = ${orgId}
    and pending_tier is not null`;

// Subscriptions at the processor
// ------------------------------------------------------------------------------------------

const known = (sql: Sql): Fragment => sql`
  id, org_id as "orgId", addon, packs, cancel_at as "cancelAt", owing, started_at as "startedAt",
  last_event_at as "lastEventAt", changed_at as "changedAt", ended_at as "endedAt", version`;

/** By its id alone: that is what an event names, and it leads to the org. */
export async function findKnown(sql: Sql, id: string): Promise<KnownSubscription | undefined> {
  const [row] = await sql<
    KnownSubscription[]
  >`select ${known(sql)} from payment_subscriptions /* all orgs */ where id = ${id}`;
  return row;
}
/** Lists the subscriptions of the org that run. */
export const runningOf = (sql: Sql, orgId: string) => sql<KnownSubscription[]>`
  select ${known(sql)}
  from payment_subscriptions
  where org_id = ${orgId}
    and ended_at is null
  order by started_at`;

interface Heard {
  eventAt?: Date | undefined;
  /** We asked for this change ourselves; when, by the processor's clock. */
  changedAt?: Date | undefined;
}
/**
 * Writes down what the processor says of a subscription. A plan for life has no grace period at whose end unpaid packs
 * would count no more: they count until the processor gives them up.
 */
export const saveKnown = (
  sql: Sql,
  orgId: string,
  { id, item, state, cancelAt, owing, givenUp, startedAt }: Paid,
  { eventAt, changedAt }: Heard,
) => sql`
  insert into payment_subscriptions (id, org_id, addon, packs, cancel_at, owing, started_at, last_event_at, changed_at,
    ended_at)
  values (${id}, ${orgId}, ${item.kind === 'packs' ? item.dimension : null},
    case
      when ${givenUp} and exists (select from subscriptions where org_id = ${orgId} and is_lifetime) then 0
      else ${item.kind === 'packs' && state === 'live' ? item.packs : 0}::int
    end, ${cancelAt}, ${owing}, ${startedAt}, ${eventAt ?? null}, ${changedAt ?? null},
    ${state === 'over' ? sql`now()` : null})
  on conflict (id) do update set packs = excluded.packs, cancel_at = excluded.cancel_at,
    owing = excluded.owing,
    last_event_at = greatest(payment_subscriptions.last_event_at, excluded.last_event_at),
    changed_at = greatest(payment_subscriptions.changed_at, excluded.changed_at),
    ended_at = coalesce(payment_subscriptions.ended_at, excluded.ended_at), version = payment_subscriptions.version + 1
  where payment_subscriptions.org_id = ${orgId}`;
export const noteEvent = (sql: Sql, orgId: string, id: string, eventAt: Date) => sql`
  update payment_subscriptions
  set last_event_at = greatest(last_event_at, ${eventAt}), version = version + 1
  where org_id = ${orgId}
    and id = ${id}`;
/** Notes whether the last invoice of a subscription could be collected. */
export const noteOwing = (sql: Sql, orgId: string, id: string, owing: boolean) => sql`
  update payment_subscriptions
  set owing = ${owing}
  where org_id = ${orgId}
    and id = ${id}
    and owing <> ${owing}`;
export const endKnown = (sql: Sql, orgId: string, id: string) => sql`
  update payment_subscriptions
  set ended_at = coalesce(ended_at, now()), version = version + 1
  where org_id = ${orgId}
    and id = ${id}`;

// Customers, members
// ------------------------------------------------------------------------------------------------------

export async function findCustomer(sql: Sql, orgId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select customer_id as id from payment_customers where org_id = ${orgId}`;
  return row?.id;
}
/** The org keeps the first one it is given; of two at once the customer is as unique as the org. */
export async function keepCustomer(sql: Sql, orgId: string, customer: string): Promise<void> {
  await sql`insert into payment_customers (org_id, customer_id) values (${orgId}, ${customer}) on conflict do nothing`;
}
/** The org behind a subscription: by its customer, else by the checkout that it came from. */
export async function orgOf(sql: Sql, customer: string, identifier: string | null): Promise<string | undefined> {
  const [row] = await sql<{ orgId: string }[]>`
    select org_id as "orgId"
    from (
      select org_id, 1 as n
      from payment_customers /* all orgs */
      where customer_id = ${customer}
      union all
      select org_id, 2
      from payment_checkouts /* all orgs */
      where id::text = ${identifier}
    ) found
    order by n
    limit 1`;
  return row?.orgId;
}
/** Addresses of those who answer for what an org pays: by a system role, or by a permission of its own roles. */
export const payersOf = (sql: Sql, orgId: string, roles: readonly string[], permission: string) => sql<
  { email: string }[]
>`
  select distinct u.email
  from memberships m
    join users u on u.id = m.user_id and u.deleted_at is null
    left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
  where m.org_id = ${orgId}
    and not m.disabled
    and (m.role_key = any(${roles}::text[]) or ${permission} = any(r.permissions))`;

/** `gone`: it was deleted. */
export async function nameOf(sql: Sql, orgId: string): Promise<{ name: string; allowTrial: boolean; gone: boolean }> {
  const [row] = await sql<{ name: string; allowTrial: boolean; gone: boolean }[]>`
    select name, allow_trial as "allowTrial", deleted_at is not null as gone
    from organizations
    where id = ${orgId}`;
  return row!;
}
export async function emailOf(sql: Sql, userId: string | null): Promise<string | undefined> {
  if (userId === null) return undefined;
  const [row] = await sql<{ email: string }[]>`select email from users where id = ${userId}`;
  return row?.email;
}
export async function firstSuperAdmin(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<
    { email: string }[]
  >`select email from users where is_super_admin and deleted_at is null order by created_at, id limit 1`;
  return row?.email;
}

// What an organization may have once
// ------------------------------------------------------------------------------------------------------------------

/** Tells whether an org has taken this coupon, whatever became of it since. */
export async function tookCoupon(sql: Sql, orgId: string, coupon: string): Promise<boolean> {
  const rows = await sql`select from organizations where id = ${orgId} and coupon_taken = ${coupon}`;
  return rows.length > 0;
}
/** False: it was noted before. */
export async function noteCoupon(sql: Sql, orgId: string, coupon: string): Promise<boolean> {
  const { count } = await sql`
    update organizations
    set coupon_taken = ${coupon}
    where id = ${orgId}
      and coupon_taken is distinct from ${coupon}`;
  return count > 0;
}

/** Claims the right of an organization to refund charges by itself, once a year; false when it is used up. */
export async function claimSelfRefund(sql: Sql, orgId: string): Promise<boolean> {
  const { count } = await sql`
    update organizations
    set self_refund_at = now()
    where id = ${orgId}
      and (self_refund_at is null or self_refund_at < now() - interval '1 year')`;
  return count > 0;
}
/** Gives that right back to an organization that got nothing by it. */
export const returnSelfRefund = (sql: Sql, orgId: string) => sql`
  update organizations
  set self_refund_at = null
  where id = ${orgId}`;
