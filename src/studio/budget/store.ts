import type { Fragment, Sql } from '../../platform/db/index.ts';
import { type BudgetRules, type BudgetWindow, NO_BUDGET, ODD_FACTOR, type BudgetSettlement } from './rules.ts';

/** A call or job of an organization. */
export interface CallKey {
  orgId: string;
  /** A UUID; each attempt at a provider has one of its own. */
  ref: string;
}
export interface ReservationRow extends CallKey {
  userId: string | null;
  /** The program whose day it counts in. */
  programId?: string | null | undefined;
  domain: string;
  providerId: string;
  micros: number;
  /** Null: the model has no price. */
  source: 'estimate' | null;
  /** How long it may be under way. */
  holdMs: number;
}

// Lock order: a statement locks windows in the order of their key, those over all providers first.

/**
 * CTEs: the windows of the calls in `from`, which has their columns and `day`, and what is added to each. A program that
 * may spend only so much has one of the day.
 */
const counted = (sql: Sql, from: Fragment, added: { spent: Fragment; reserved: Fragment }): Fragment => sql`
  windows as (
    select f.org_id, s.domain, s.provider_id, p.period, date_trunc(p.period, f.day::timestamp)::date as starts,
      ${added.spent} as spent, ${added.reserved} as reserved
    from ${from} f
    cross join lateral (
      values ('', ''), (f.domain, f.provider_id), ('program', f.program_id::text)
    ) s (domain, provider_id)
    cross join (values ('day'), ('month')) p (period)
    where s.provider_id is not null
      and (s.domain <> 'program' or p.period = 'day')
  ), counted as (
    insert into ai_spend as c (org_id, domain, provider_id, period, starts, spent, reserved)
    select org_id, domain, provider_id, period, starts, spent, reserved
    from windows
    order by org_id, domain, provider_id, period, starts
    on conflict (org_id, domain, provider_id, period, starts) do update
      set spent = c.spent + excluded.spent, reserved = c.reserved + excluded.reserved
    returning c.*
  )`;
const windowColumns = (sql: Sql): Fragment => sql`
  domain, provider_id as "providerId", period, starts::text, spent::float8, reserved::float8, alerted`;

/** Writes a reservation into the ledger and the windows of today; answers the windows with it. */
export const insertReservation = async (sql: Sql, row: ReservationRow): Promise<BudgetWindow[]> => sql<BudgetWindow[]>`
  with call as (
    select ${row.orgId}::uuid as org_id, ${row.ref}::uuid as ref, ${row.userId}::uuid as user_id,
      ${row.programId ?? null}::uuid as program_id, ${row.domain}::text as domain,
      ${row.providerId}::text as provider_id, ${row.micros}::bigint as micros, ${row.source}::text as source, (now() at time zone 'UTC')::date as day
  ), ${counted(sql, sql`call`, { spent: sql`0::bigint`, reserved: sql`f.micros` })}, held as (
    insert into ai_reservations (org_id, ref, domain, provider_id, user_id, program_id, micros, source, day, until)
    select org_id, ref, domain, provider_id, user_id, program_id, micros, source, day,
      now() + ${row.holdMs}::float8 * interval '1 millisecond'
    from call
  ), entered as (
    insert into ai_ledger (org_id, ref, kind, domain, provider_id, user_id, program_id, micros, source, day)
    select org_id, ref, 'reservation', domain, provider_id, user_id, program_id, micros, source, day
    from call
  )
  select ${windowColumns(sql)}
  from counted`;

/**
 * Ends a reservation, with a settlement or without one; answers its windows, none where it had ended already. A cost
 * beyond all sense is kept beside the estimate, which counts, and marked: it would use up each cap.
 */
export const endReservation = async (
  sql: Sql,
  { orgId, ref }: CallKey,
  settlement: BudgetSettlement | undefined,
): Promise<BudgetWindow[]> => sql<BudgetWindow[]>`
  with ended as (
    delete from ai_reservations
    where org_id = ${orgId} and ref = ${ref}
    returning *
  ), judged as (
    select ended.*, odd, case when not odd then true_cost end as true_cost,
      coalesce(case when not odd then true_cost end, micros) as cost
    from ended
    cross join (select ${settlement?.micros ?? null}::bigint as true_cost) t
    cross join lateral (
      select coalesce(micros > 0 and true_cost > ${ODD_FACTOR}::bigint * micros, false) as odd
    ) o
  ), ${counted(sql, sql`judged`, {
    spent: settlement ? sql`f.cost` : sql`0::bigint`,
    reserved: sql`-f.micros`,
  })}, released as (
    insert into ai_ledger (org_id, ref, kind, domain, provider_id, user_id, program_id, micros, source, day)
    select org_id, ref, 'release', domain, provider_id, user_id, program_id, -micros, source, day
    from judged
  ), settled as (
    insert into ai_ledger (org_id, ref, kind, domain, provider_id, user_id, program_id, micros, source, told, marked,
      day)
    select org_id, ref, 'settlement', domain, provider_id, user_id, program_id, cost,
      case when true_cost is null then source else ${settlement?.source ?? null}::text end,
      coalesce(${settlement?.told ?? null}::text, case when odd then ${settlement?.micros ?? null}::bigint::text end),
      ${settlement?.marked ?? false}::boolean or odd, day
    from judged
    where ${settlement !== undefined}::boolean
  )
  select ${windowColumns(sql)}
  from counted`;

/**
 * Corrects a settlement that was made by an estimate, once the true cost is known; answers its windows, none where
 * there is nothing to correct.
 */
export const insertCorrection = (sql: Sql, { orgId, ref }: CallKey, { micros, source }: BudgetSettlement) => sql<
  BudgetWindow[]
>`
  with corrected as (
    insert into ai_ledger (org_id, ref, kind, domain, provider_id, user_id, program_id, micros, source, day)
    select org_id, ref, 'correction', domain, provider_id, user_id, program_id, ${micros}::bigint - micros,
      ${source}::text, day
    from ai_ledger
    where org_id = ${orgId} and ref = ${ref} and kind = 'settlement' and marked and told is null
      and (micros = 0 or ${micros}::bigint <= ${ODD_FACTOR}::bigint * micros)
    on conflict do nothing
    returning *
  ), ${counted(sql, sql`corrected`, { spent: sql`f.micros`, reserved: sql`0::bigint` })}
  select ${windowColumns(sql)}
  from counted`;

/**
 * Gives a program that replaces another what that one has spent and reserved today, and the calls that are under way. A
 * call that begins meanwhile stays reserved for the rest of the day. The calls are locked first, as by their end.
 */
export async function copyProgramDay(sql: Sql, orgId: string, from: string, to: string): Promise<void> {
  await sql`
    update ai_reservations
    set program_id = ${to}
    where org_id = ${orgId}
      and program_id = ${from}`;
  await sql`
    insert into ai_spend (org_id, domain, provider_id, period, starts, spent, reserved)
    select org_id, domain, ${to}::text, period, starts, spent, reserved
    from (
      select *
      from ai_spend
      where org_id = ${orgId}
        and domain = 'program'
        and provider_id = ${from}::text
        and period = 'day'
        and starts = (now() at time zone 'UTC')::date
      for update
    ) old`;
}

/** The program in whose day a call counts, locked until the commit; undefined: it is under way no more. */
export async function findProgramOf(sql: Sql, { orgId, ref }: CallKey): Promise<string | null | undefined> {
  const [row] = await sql<{ programId: string | null }[]>`
    select program_id as "programId"
    from ai_reservations
    where org_id = ${orgId}
      and ref = ${ref}
    for update`;
  return row?.programId;
}

/** The caps of an organization; undefined where it decided none. */
export async function findBudget(sql: Sql, orgId: string): Promise<BudgetRules | undefined> {
  const [row] = await sql<BudgetRules[]>`
    select monthly_cents as "monthlyCents", daily_cents as "dailyCents", providers, alert_percents as "alertPercents"
    from ai_budgets
    where org_id = ${orgId}`;
  return row;
}

/** Locks the caps of an organization until the commit; answers them. */
export async function lockBudget(sql: Sql, orgId: string): Promise<BudgetRules> {
  await sql`insert into ai_budgets (org_id) values (${orgId}) on conflict do nothing`;
  const [row] = await sql<BudgetRules[]>`
    select monthly_cents as "monthlyCents", daily_cents as "dailyCents", providers, alert_percents as "alertPercents"
    from ai_budgets
    where org_id = ${orgId}
    for update`;
  return row ?? NO_BUDGET;
}

export const updateBudget = (sql: Sql, orgId: string, budget: BudgetRules) => sql`
  update ai_budgets
  set monthly_cents = ${budget.monthlyCents}, daily_cents = ${budget.dailyCents},
    providers = ${sql.json(budget.providers.map((caps) => ({ ...caps })))},
    alert_percents = ${[...budget.alertPercents]}::integer[], updated_at = now()
  where org_id = ${orgId}`;

/** Locks the windows of today and this month until the commit; answers them. */
export const lockWindows = (sql: Sql, orgId: string) => sql<BudgetWindow[]>`
  select ${windowColumns(sql)}
  from ai_spend
  where org_id = ${orgId}
    and starts = date_trunc(period, now() at time zone 'UTC')::date
  order by domain, provider_id, period, starts
  for update`;

export const noteAlerted = (
  sql: Sql,
  orgId: string,
  { domain, providerId, period, starts }: BudgetWindow,
  percent: number,
) => sql`
  update ai_spend
  set alerted = ${percent}
  where org_id = ${orgId}
    and domain = ${domain}
    and provider_id = ${providerId}
    and period = ${period}
    and starts = ${starts}::date`;

/** A settled call of which the provider can say later what it cost. */
export interface LateCost extends CallKey {
  settingId: string;
  /** The provider's names of its questions. */
  callIds: readonly string[];
}

/** Keeps a call until its provider is asked; by then it knows what the call has cost, also one that ended early. */
export const insertLateCost = (sql: Sql, { orgId, ref, settingId, callIds }: LateCost) => sql`
  insert into ai_late_costs (org_id, ref, setting_id, call_ids, ask_at)
  values (${orgId}, ${ref}, ${settingId}, ${[...new Set(callIds)]}::text[], now() + interval '2 minutes')
  on conflict do nothing`;

/** Calls whose provider is to be asked, the oldest first, at most `limit`. */
export const findLateCosts = (sql: Sql, limit: number) => sql<LateCost[]>`/* all orgs */
  select org_id as "orgId", ref, setting_id as "settingId", call_ids as "callIds"
  from ai_late_costs
  where ask_at <= now()
  order by ask_at
  limit ${limit}`;

export const deleteLateCost = (sql: Sql, { orgId, ref }: CallKey) => sql`
  delete from ai_late_costs
  where org_id = ${orgId} and ref = ${ref}`;

/** Reservations whose time is over, at most `limit`. */
export const lapsedReservations = (sql: Sql, limit: number, without: readonly CallKey[]) => sql<
  CallKey[]
>`/* all orgs */
  select org_id as "orgId", ref
  from ai_reservations
  where until < now()
    and (org_id, ref) not in (
      select *
      from unnest(${without.map(({ orgId }) => orgId)}::uuid[], ${without.map(({ ref }) => ref)}::uuid[])
    )
  order by until
  limit ${limit}`;
