import { announce } from '../../platform/outbox/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import type { RouteChoice } from './rules.ts';

/** A setting of the domain `vpn` that an org may use: its own, or one of the instance. */
export interface RouteRow {
  id: string;
  /** Null: of the instance. */
  owner: string | null;
  name: string;
  providerId: string;
  enabled: boolean;
  checkedAt: Date | null;
  ok: boolean | null;
  exitAddress: string | null;
  message: string | null;
  latencyMs: number | null;
  failingSince: Date | null;
}

const routes = (sql: Sql, orgId: string) => sql`
  select s.id, s.org_id as owner, s.name, s.provider_id as "providerId", s.enabled, k.checked_at as "checkedAt", k.ok,
    k.exit_address as "exitAddress", k.message,
    k.latency_ms as "latencyMs", k.failing_since as "failingSince"
  from provider_settings s
  left join egress_checks k on k.setting_id = s.id and k.org_id = ${orgId}
  where s.domain = 'vpn' and (s.org_id = ${orgId} or s.org_id is null)`;

/** Its own first, then those of the instance. */
export const routesOf = (sql: Sql, orgId: string): Promise<RouteRow[]> =>
  sql<RouteRow[]>`${routes(sql, orgId)} order by s.org_id nulls last, s.created_at, s.id`;

export async function routeOf(sql: Sql, orgId: string, id: string): Promise<RouteRow | undefined> {
  const [row] = await sql<RouteRow[]>`${routes(sql, orgId)} and s.id = ${id}`;
  return row;
}
/** Before a route is held that the organization is to have: whoever deletes one locks them in this order. */
export const lockOrg = (sql: Sql, orgId: string) =>
  sql`select from organizations where id = ${orgId} for no key update`;
/** The same, which nobody can delete before the commit. */
export async function holdRoute(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const rows = await sql`
      select
      from provider_settings
      where id = ${id} and domain = 'vpn' and (org_id = ${orgId} or org_id is null)
      for key share`;
  return rows.length > 0;
}

export async function routeIdOfOrg(sql: Sql, orgId: string): Promise<string | null> {
  const [row] = await sql<
    { id: string | null }[]
  >`select egress_setting_id as id from organizations where id = ${orgId}`;
  return row?.id ?? null;
}
/** The route that a channel takes, its own or that of its org; undefined: there is no such channel. */
export async function routeIdOfChannel(sql: Sql, orgId: string, channelId: string): Promise<string | null | undefined> {
  const [row] = await sql<{ id: string | null }[]>`
    select case c.egress when 'route' then c.egress_setting_id when 'org' then o.egress_setting_id end as id
    from channels c
    join organizations o on o.id = c.org_id
    where c.org_id = ${orgId} and c.id = ${channelId} and c.deleted_at is null`;
  return row && row.id;
}

export interface ChannelChoice {
  id: string;
  egress: string;
  settingId: string | null;
}
export const choicesOf = (sql: Sql, orgId: string): Promise<ChannelChoice[]> => sql<ChannelChoice[]>`
  select id, egress, egress_setting_id as "settingId"
  from channels
  where org_id = ${orgId} and deleted_at is null
  order by created_at, id`;

export const chooseForOrg = (sql: Sql, orgId: string, settingId: string | null) =>
  sql`update organizations set egress_setting_id = ${settingId} where id = ${orgId}`;

/** False: there is no such channel. */
export async function chooseForChannel(
  sql: Sql,
  orgId: string,
  channelId: string,
  choice: RouteChoice,
): Promise<boolean> {
  const rows = await sql`
    update channels
    set egress = ${choice.kind}, egress_setting_id = ${choice.kind === 'route' ? choice.settingId : null},
      updated_at = now()
    where org_id = ${orgId} and id = ${channelId} and deleted_at is null
    returning 1`;
  return rows.length > 0;
}

export interface Checked {
  ok: boolean;
  exitAddress: string | null;
  message: string;
  latencyMs: number;
}
/**
 * Writes what a check found, and announces that a route of the organization, which was not known to be down, is; answers
 * what was known before: null, when nothing was.
 */
export async function saveCheck(
  sql: Sql,
  orgId: string,
  settingId: string,
  { ok, exitAddress, message, latencyMs }: Checked,
): Promise<boolean | null> {
  // Of two first checks neither would find a row to lock, and both would tell.
  await sql`
    insert into egress_checks (org_id, setting_id, checked_at)
    select ${orgId}, id, now()
    from provider_settings
    where id = ${settingId}
    on conflict (org_id, setting_id) do nothing`;
  const [row] = await sql<{ before: boolean | null }[]>`
    with before as materialized (
      select ok
      from egress_checks
      where org_id = ${orgId}
        and setting_id = ${settingId}
      for no key update -- of two checks the second sees what the first has found
    ), written as (
      insert into egress_checks as k (org_id, setting_id, checked_at, ok, exit_address, message, latency_ms,
        failing_since)
      select ${orgId}, id, now(), ${ok}, ${exitAddress}, ${message}, ${latencyMs}, case
        when ${ok} then null
        else now() end
      from provider_settings
      where id = ${settingId}
        and (select count(*) from before) >= 0 -- first the lock
      on conflict (org_id, setting_id) do update
      set checked_at = now(), ok = excluded.ok,
        exit_address = coalesce(excluded.exit_address, k.exit_address),
        message = excluded.message, latency_ms = excluded.latency_ms, failing_since = case
          when excluded.ok then null
          else coalesce(k.failing_since, now()) end
      returning org_id, setting_id
    ), down as (
      select w.org_id, s.id, s.name
      from written w
      join provider_settings s on s.id = w.setting_id
      where not ${ok}::boolean
        and (select ok from before) is distinct from false
        and (
          exists (select from organizations o where o.id = w.org_id and o.egress_setting_id = s.id)
          or exists (
            select
            from channels c
            where c.org_id = w.org_id
              and c.egress_setting_id = s.id
              and c.deleted_at is null
          )
        )
    ), ${announce(sql, { 'route.down': { from: sql`down`, payload: { name: sql`name`, reason: sql`${message}::text` } } })}
    select (select ok from before) as before`;
  return row!.before;
}

/**
 * Takes up at most `limit` routes that are in use and were not looked at for so long; nobody else takes them up
 * meanwhile. Of an organization that is disabled nobody would hear that one broke: that is told afterwards. In one order
 * of rows, so that two processes do not wait for each other.
 */
export const claimDueChecks = (
  sql: Sql,
  staleMs: number,
  limit: number,
): Promise<{ orgId: string; settingId: string }[]> => sql<{ orgId: string; settingId: string }[]>`
  with used as (
    select id as org_id, egress_setting_id as setting_id
    from organizations /* all orgs */
    where egress_setting_id is not null
    union select org_id, egress_setting_id
    from channels /* all orgs */
    where egress_setting_id is not null and deleted_at is null
  ), due as (
    select u.org_id, u.setting_id
    from used u
    join organizations o on o.id = u.org_id and o.deleted_at is null and o.disabled_at is null
    join provider_settings s on s.id = u.setting_id
      left join egress_checks k on k.org_id = u.org_id and k.setting_id = u.setting_id
    where k.checked_at is null or k.checked_at <= now() - ${staleMs}::float8 * interval '1 ms'
    order by k.checked_at nulls first, u.org_id, u.setting_id
    limit ${limit}
  )
  insert into egress_checks as k (org_id, setting_id, checked_at) select org_id, setting_id, now() from due
  on conflict (org_id, setting_id) do update set checked_at = now()
  where k.checked_at <= now() - ${staleMs}::float8 * interval '1 ms'
  returning org_id as "orgId", setting_id as "settingId"`;
