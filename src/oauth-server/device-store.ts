import type { Sql } from '../platform/db/index.ts';

export interface NewDevice {
  id: string;
  deviceHash: Buffer;
  userHash: Buffer;
  intervalSeconds: number;
  seconds: number;
  ip: string;
  userAgent: string;
}
/** The client and device that asked for a code that waits. */
export interface WaitingDevice {
  ip: string;
  userAgent: string;
  askedAt: Date;
}
/** The state of a device's request when the device asks. */
export interface AskedDevice {
  id: string;
  decision: 'approved' | 'denied' | null;
  orgId: string | null;
  userId: string | null;
  ip: string;
  userAgent: string;
  /** The key that was made for it. */
  apiKeyId: string | null;
  expired: boolean;
  /** It asked sooner than it may. */
  early: boolean;
}

/** False when the codes are taken. */
export async function insertDevice(sql: Sql, device: NewDevice): Promise<boolean> {
  const rows = await sql`
    insert into oauth_devices (id, device_hash, user_hash, interval_seconds, expires_at, asked_at, ip, user_agent)
    values (
      ${device.id}, ${device.deviceHash}, ${device.userHash}, ${device.intervalSeconds},
      now() + ${device.seconds}::int * interval '1 s', now() - interval '1 hour',
      ${device.ip}, ${device.userAgent}
    )
    on conflict do nothing
    returning 1`;
  return rows.length > 0;
}

/** Notes that the device asked; one that asks too fast has to wait longer from now on (RFC 8628 3.5). */
export async function askDevice(sql: Sql, deviceHash: Buffer, step: number): Promise<AskedDevice | undefined> {
  const [row] = await sql<AskedDevice[]>`/* all orgs */
    with device as (
      select id, asked_at + interval_seconds * interval '1 s' > clock_timestamp() as early
      from oauth_devices
      where device_hash = ${deviceHash}
      for update
    )
    update oauth_devices d
    set asked_at = clock_timestamp(), interval_seconds = case
      when device.early then least(d.interval_seconds + ${step}::int, 60)
      else d.interval_seconds end
    from device
    where d.id = device.id
    returning d.id, d.decision, d.org_id as "orgId", d.user_id as "userId", d.ip, d.user_agent as "userAgent",
      d.claim as "apiKeyId", d.expires_at <= now() as expired, device.early`;
  return row;
}

/** Finds who asked for a code that waits for a decision, `seconds` before it expires. */
export async function waitingDevice(sql: Sql, userHash: Buffer, seconds: number): Promise<WaitingDevice | undefined> {
  const [row] = await sql<WaitingDevice[]>`/* all orgs */
    select ip, user_agent as "userAgent", expires_at - ${seconds}::int * interval '1 s' as "askedAt"
    from oauth_devices
    where user_hash = ${userHash}
      and decision is null
      and expires_at > now()`;
  return row;
}

/** Decides about a request, once; false when no such code waits. */
export async function decideDevice(
  sql: Sql,
  orgId: string,
  { userHash, userId, decision }: { userHash: Buffer; userId: string; decision: 'approved' | 'denied' },
): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    update oauth_devices
    set decision = ${decision}, org_id = ${orgId}, user_id = ${userId}
    where user_hash = ${userHash}
      and decision is null
      and expires_at > now()
    returning id`;
  return row?.id;
}

/**
 * Claims an approved request for a key, in the transaction that makes it: one request has it. The row stays for as long
 * as others of its age, so that a second use of the code is seen.
 */
export async function takeDevice(sql: Sql, id: string, apiKeyId: string): Promise<boolean> {
  const rows = await sql`/* all orgs */
    update oauth_devices
    set claim = ${apiKeyId}
    where id = ${id}
      and decision = 'approved'
      and claim is null
    returning 1`;
  return rows.length > 0;
}

export async function dropOldDevices(sql: Sql, limit: number): Promise<number> {
  const rows = await sql`/* all orgs */
    delete from oauth_devices
    where id in (select id from oauth_devices where expires_at < now() - interval '1 hour' limit ${limit})
    returning 1`;
  return rows.length;
}
