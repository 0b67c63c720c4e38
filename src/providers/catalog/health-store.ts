import type { Sql } from '../../platform/db/index.ts';

/** The tally of the calls of one version. `consecutiveErrors`: since the last success. */
export interface Tally {
  domain: string;
  providerId: string;
  version: string;
  successCount: number;
  errorCount: number;
  consecutiveErrors: number;
  lastSuccessAt: Date | null;
  lastErrorAt: Date | null;
}

/** Adds the tallies of one process, in one order of rows, so that two processes do not deadlock. */
export async function addTallies(sql: Sql, tallies: readonly Tally[]): Promise<void> {
  const key = ({ domain, providerId, version }: Tally) => `${domain}/${providerId}@${version}`;
  const ordered = tallies.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  const all = <K extends keyof Tally>(name: K) => ordered.map((tally) => tally[name]);
  const instants = (name: 'lastSuccessAt' | 'lastErrorAt') =>
    ordered.map((tally) => tally[name]?.toISOString() ?? null);
  await sql`
    insert into provider_health as h (domain, provider_id, provider_version, success_count, error_count,
      consecutive_errors, last_success_at, last_error_at)
    select *
    from unnest(
      ${all('domain')}::text[], ${all('providerId')}::text[], ${all('version')}::text[], ${all('successCount')}::int8[],
      ${all('errorCount')}::int8[],
      ${all('consecutiveErrors')}::int8[], ${instants('lastSuccessAt')}::timestamptz[],
      ${instants('lastErrorAt')}::timestamptz[])
    on conflict (domain, provider_id, provider_version) do update
    set success_count = h.success_count + excluded.success_count,
      error_count = h.error_count + excluded.error_count,
      consecutive_errors = excluded.consecutive_errors + case
        when excluded.success_count = 0 then h.consecutive_errors
        else 0 end,
      last_success_at = greatest(h.last_success_at, excluded.last_success_at),
      last_error_at = greatest(h.last_error_at, excluded.last_error_at)`;
}

export const allTallies = (sql: Sql) => sql<Tally[]>`
  select domain, provider_id as "providerId", provider_version as version, success_count::float8 as "successCount",
    error_count::float8 as "errorCount",
    consecutive_errors::float8 as "consecutiveErrors", last_success_at as "lastSuccessAt",
    last_error_at as "lastErrorAt"
  from provider_health`;
