import type { Sql } from './client.ts';

/** A role that one holder has at a time, over all processes. Expiry is judged by the database's clock. */
export interface Lease {
  /**
   * Takes or prolongs it; false while another holder's has not expired. One statement: ask before each round of work.
   */
  held(): Promise<boolean>;
  /** Gives it up, so that another may have it at once. */
  release(): Promise<void>;
}

/** `holder` is this start of this process (its incarnation); a process that dies is followed after `seconds`. */
export interface LeaseOptions {
  sql: Sql;
  name: string;
  holder: string;
  seconds: number;
}

/**
 * Opens a lease row; nothing is taken before the first `held()`. A row that is fresh enough is read and not written.
 */
export const openLease = ({ sql, name, holder, seconds }: LeaseOptions): Lease => ({
  held: async () => (await sql`with ${lease(sql, { name, holder, seconds })} select from lease`).length > 0,
  async release() {
    await sql`delete from leases where name = ${name} and holder = ${holder}`;
  },
});

/** CTEs for a statement that is to do nothing without the lease: the last, `lease`, has one row when it is held. */
export const lease = (sql: Sql, { name, holder, seconds }: Omit<LeaseOptions, 'sql'>) => sql`
  lease_taken as (
    insert into leases (name, holder, expires_at)
    select ${name}::text, ${holder}::text, now() + ${seconds}::float8 * interval '1 s'
    where not exists ( -- else the row would be locked, which is a write
      select from leases
      where name = ${name}
        and expires_at > now()
        and (holder <> ${holder} or expires_at >= now() + ${seconds / 2}::float8 * interval '1 s')
    )
    on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at
    where leases.expires_at <= now()
      or (leases.holder = excluded.holder and leases.expires_at < now() + ${seconds / 2}::float8 * interval '1 s')
    returning true
  ), lease as (
    select from lease_taken
    union all
    select
    from leases
    where name = ${name} and holder = ${holder} and expires_at > now() and not exists (select from lease_taken)
  )`;
