import type { Fragment, Sql } from '../../../platform/db/index.ts';

/** What fails together: a version of a provider at one origin, by one route. */
export interface CircuitKey {
  providerId: string;
  providerVersion: string;
  lane: string;
}

const PROBE_MS = 15_000;
const LONGEST_PROBE_MS = 300_000;
/** A probe that is not over by then has died with its host. */
const PROBING_MS = 65_000;
/** How long a post waits at least while another one probes. */
const WHILE_PROBING_MS = 5_000;

const named = (sql: Sql, { providerId, providerVersion, lane }: CircuitKey): Fragment =>
  sql`provider_id = ${providerId} and provider_version = ${providerVersion} and lane = ${lane}`;

/** Opens a circuit for all hosts; false: another host did so before. */
export async function insertCircuit(sql: Sql, { providerId, providerVersion, lane }: CircuitKey): Promise<boolean> {
  const { count } = await sql`
    /* all orgs */
    insert into circuits (provider_id, provider_version, lane, probe_at)
    values (${providerId}, ${providerVersion}, ${lane}, now() + ${PROBE_MS}::float8 * interval '1 ms')
    on conflict do nothing`;
  return count > 0;
}

/**
 * Asks whether a post may be sent: `closed`: each may; `probe`: this one, which has to report; else how long it waits,
 * in milliseconds. While another one probes it waits as long again as that has lasted: a network that hangs would have
 * every post claimed every few seconds, with two entries in its timeline each time.
 */
export async function takeProbe(sql: Sql, key: CircuitKey): Promise<'closed' | 'probe' | number> {
  const [row] = await sql<{ isTaken: boolean; probeInMs: number; probesFor: number | null }[]>`
    /* all orgs */
    with taken as (
      update circuits
      set probing_until = now() + ${PROBING_MS}::float8 * interval '1 ms'
      where ${named(sql, key)}
        and probe_at <= now()
        and (probing_until is null or probing_until <= now())
      returning provider_id
    )
    select exists (select from taken) as "isTaken",
      ceil(extract(epoch from probe_at - now()) * 1000)::float8 as "probeInMs",
      ${PROBING_MS} - ceil(extract(epoch from probing_until - now()) * 1000)::float8 as "probesFor"
    from circuits
    where ${named(sql, key)}`;
  if (!row) return 'closed';
  if (row.isTaken) return 'probe';
  const probesFor = row.probesFor ?? 0;
  return Math.max(row.probeInMs, Math.min(Math.max(probesFor, WHILE_PROBING_MS), PROBING_MS - probesFor), 1);
}

/**
 * Since when a post waits for a network that answers nobody: the first time that its timeline says so, after the last
 * entry that says anything else.
 */
export async function waitsForCircuitSince(
  sql: Sql,
  { orgId, postId }: { orgId: string; postId: string },
): Promise<Date | undefined> {
  const [row] = await sql<{ since: Date | null }[]>`
    select min(at) as since
    from post_timeline t
    where org_id = ${orgId}
      and post_id = ${postId}
      and kind = 'circuit_open'
      and not exists (
        select
        from post_timeline o
        where o.post_id = t.post_id
          and o.id > t.id
          and o.kind not in ('claimed', 'circuit_open')
      )`;
  return row?.since ?? undefined;
}

/** Ends a probe: a failed one waits longer for the next, one that has shown nothing leaves its place to another post. */
export const endProbe = (sql: Sql, key: CircuitKey, { hasFailed }: { hasFailed: boolean }) => sql`
  /* all orgs */
  update circuits
  set probing_until = null,
    failed_probes = failed_probes + ${hasFailed ? 1 : 0},
    probe_at = case when ${hasFailed}
      then now() + least(${PROBE_MS}::float8 * 2 ^ least(failed_probes + 1, 10), ${LONGEST_PROBE_MS}::float8) * interval '1 ms'
      else probe_at end
  where ${named(sql, key)}`;

/** Closes a circuit for all hosts. */
export const deleteCircuit = (sql: Sql, key: CircuitKey) => sql`
  /* all orgs */
  delete from circuits
  where ${named(sql, key)}`;

/** Forgets circuits that no post has asked for in a day; answers how many. */
export async function dropOldCircuits(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    /* all orgs */
    delete from circuits
    where ctid = any(array(
      select ctid
      from circuits
      where probe_at < now() - interval '1 day'
      order by probe_at
      limit ${limit}
    ))`;
  return count;
}
