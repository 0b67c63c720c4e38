import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Database, Fragment, Sql } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import { announce } from '../../platform/outbox/index.ts';
import {
  catchUpStopped,
  dropPosts,
  type FollowUpsPort,
  marksOfNewChannel,
  pausePosts,
  resumePosts,
} from '../posts/index.ts';

// Locks are taken in this order: what counts for the org, where the transition may raise it, the channel's row, the
// choice that becomes it, then its posts. What becomes of the posts is in `posts/bulk.ts`: CTEs over the CTE `channel` of
// each statement.

/**
 * Makes a move with the channel's row locked before its statement looks at anything: one that waited for the lock in
 * its midst would see the posts as they were before it waited, and leave some of them standing.
 */
async function locked<R>(
  sql: Database,
  orgId: string,
  channel: { id: string } | { providerId: string; internalId: string },
  move: (transaction: Sql, found: Found | undefined) => Promise<R>,
  plan?: Plan,
): Promise<R> {
  const results: R[] = [];
  await sql.begin(async (transaction) => {
    await plan?.lockOrg(transaction, orgId);
    const which =
      'id' in channel
        ? transaction`id = ${channel.id}`
        : transaction`provider_id = ${channel.providerId} and internal_id = ${channel.internalId}`;
    const [found] = await transaction<Found[]>`
      select id, disabled, refresh_needed as "refreshNeeded", deleted_at is not null as deleted
      from channels
      where org_id = ${orgId}
        and ${which}
      for update`;
    results.push(await move(transaction, found));
  });
  return results[0]!;
}
/** The row as it was locked. */
interface Found {
  id: string;
  disabled: boolean;
  refreshNeeded: boolean;
  deleted: boolean;
}
type Plan = Pick<Billing, 'lockOrg' | 'admit'>;
/** What the transitions that start posts are handed. */
interface Starting {
  billing: Plan;
  followUps: Pick<FollowUpsPort, 'plan'>;
}

/** What a person did, in the commit of the move; moves that the service makes by itself have no actor. */
async function note(
  sql: Sql,
  orgId: string,
  by: AuditActor | undefined,
  done: string,
  id: string,
  detail = {},
): Promise<void> {
  if (by) await writeAudit(sql, by, { orgId, action: `channel.${done}`, resource: 'channels', resourceId: id, detail });
}

/** What the CTE `channel` of a statement holds of the rows that it changed. */
const returned = (sql: Sql): Fragment => sql`id, org_id, provider_id, name`;

/** What every fact of a channel says, from the CTE `channel`. */
const channelFact = (sql: Sql) => ({ providerId: sql`provider_id`, name: sql`name` });

/**
 * A person must log in again (S137). False: already known, deleted, or `seen` is given and no longer the login in use.
 */
export function needsLogin(
  database: Database,
  orgId: string,
  id: string,
  reason: string,
  seen?: string,
): Promise<boolean> {
  return locked(database, orgId, { id }, async (sql) => {
    const rows = await sql`
      with channel as (
        update channels
        set refresh_needed = true, refresh_reason = ${reason}, refresh_claim = null, refresh_until = null,
          next_due_at = null, reminder_due_at = null, updated_at = now()
        where org_id = ${orgId}
          and id = ${id}
          and deleted_at is null
          and not refresh_needed
          ${seen === undefined ? sql`` : sql`and credentials = ${seen}`}
        returning ${returned(sql)}
      ), ${pausePosts(sql, 'The channel needs a new login')}, ${announce(sql, {
        'channel.refresh_needed': {
          from: sql`channel`,
          payload: { ...channelFact(sql), reason: sql`${reason}::text` },
        },
      })}
      select id
      from channel`;
    return rows.length > 0;
  });
}

/** Why a channel was stopped, in the event `channel.disabled`. */
type Why = 'person' | 'plan';
const STOPPED: Record<Why, string> = {
  person: 'The channel was disabled',
  plan: 'The plan has no room for this channel',
};

/** Stops a channel whose row is locked, and the posts that wait in it. False: it is stopped already, or deleted. */
async function stop(sql: Sql, orgId: string, id: string, why: Why): Promise<boolean> {
  const rows = await sql`
    with channel as (
      update channels
      set disabled = true, next_due_at = null, reminder_due_at = null, updated_at = now()
      where org_id = ${orgId}
        and id = ${id}
        and deleted_at is null
        and not disabled
      returning ${returned(sql)}
    ), ${pausePosts(sql, STOPPED[why])}, ${announce(sql, {
      'channel.disabled': { from: sql`channel`, payload: { ...channelFact(sql), reason: sql`${why}::text` } },
    })}
    select id
    from channel`;
  return rows.length > 0;
}

/** Stops a channel and the posts that wait in it. False: it is stopped already, or deleted. */
export const disable = (database: Database, orgId: string, id: string, by?: AuditActor): Promise<boolean> =>
  locked(database, orgId, { id }, async (sql) => {
    const held = await stop(sql, orgId, id, 'person');
    if (held) await note(sql, orgId, by, 'disabled', id);
    return held;
  });

/** Stops the channels that a plan has no room for; in the transaction that lowered it. */
export async function disableForPlan(sql: Sql, orgId: string, ids: readonly string[]): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and id = any(${[...ids]}::uuid[]) order by id for update`;
  for (const id of ids) await stop(sql, orgId, id, 'plan');
}

/**
 * Stops every channel of an org that is taken out of use, in the transaction that does so; whoever brings it back
 * starts them again.
 */
export async function stopAll(sql: Sql, orgId: string, message: string): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and deleted_at is null order by id for update`;
  await sql`
    with channel as (
      update channels
      set disabled = true, next_due_at = null, reminder_due_at = null, updated_at = now()
      where org_id = ${orgId}
        and deleted_at is null
        and not disabled
      returning ${returned(sql)}
    ), ${pausePosts(sql, message)}
    select 1
    from channel`;
}

/**
 * Stops the posts that wait in the channels of an org, in the transaction that decides so; the channels themselves work
 * on.
 */
export async function pauseQueue(
  sql: Sql,
  orgId: string,
  message: string,
  reason: 'billing' | 'instance' = 'billing',
): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and deleted_at is null order by id for update`;
  await sql`
    with channel as (
      update channels
      set next_due_at = null, reminder_due_at = null, due_version = due_version + 1, updated_at = now()
      where org_id = ${orgId}
        and deleted_at is null
        and not disabled
        and not refresh_needed
      returning ${returned(sql)}
    ), ${pausePosts(sql, message, reason)}
    select 1
    from channel`;
}

/** Deletes a channel with its unpublished posts (S136). False: it is deleted already. */
export function remove(database: Database, orgId: string, id: string, by?: AuditActor): Promise<boolean> {
  return locked(database, orgId, { id }, async (sql) => {
    const rows = await sql`
      with channel as (
        update channels
        set deleted_at = now(), next_due_at = null, reminder_due_at = null, updated_at = now()
        where org_id = ${orgId}
          and id = ${id}
          and deleted_at is null
        returning ${returned(sql)}
      ), ${dropPosts(sql, 'The channel was deleted')}, ${announce(sql, {
        'channel.deleted': { from: sql`channel`, payload: { ...channelFact(sql), reason: sql`'person'` } },
      })}
      select id
      from channel`;
    if (rows.length > 0) await note(sql, orgId, by, 'deleted', id);
    return rows.length > 0;
  });
}

/**
 * Starts a disabled channel, and the posts that wait in it unless it needs a login. False: it is not disabled, or
 * deleted. 402 where the plan has no room for it.
 */
export function enable(
  database: Database,
  { billing: plan, followUps }: Starting,
  orgId: string,
  id: string,
  by?: AuditActor,
): Promise<boolean> {
  const start = async (sql: Sql, found: Found | undefined): Promise<boolean> => {
    if (found?.disabled && !found.deleted && !found.refreshNeeded) {
      await plan.admit(sql, orgId, 'channel');
      await catchUpStopped(sql, orgId, id);
    }
    const rows = await sql`
      with channel as (
        select id, org_id, refresh_needed as stopped, brakes, deleted_at
        from channels
        where org_id = ${orgId}
          and id = ${id}
          and deleted_at is null
          and disabled
        for update
      ), ${resumePosts(sql, orgId, followUps)}
      update channels c
      set disabled = false, next_due_at = case when o.stopped then null else next.due_at end, reminder_due_at = null,
        due_version = c.due_version + 1, updated_at = now()
      from channel o, next
      where c.org_id = ${orgId}
        and c.id = o.id
      returning c.id`;
    if (rows.length > 0) await note(sql, orgId, by, 'enabled', id);
    return rows.length > 0;
  };
  return locked(database, orgId, { id }, start, plan);
}

/**
 * Starts the posts that wait in the working channels of an org, after `pauseQueue`, unless the org is disabled; what is
 * late meanwhile follows the org's rule (S135).
 */
export async function resumeQueue(
  { followUps }: Pick<Starting, 'followUps'>,
  sql: Sql,
  orgId: string,
  reason: 'billing' | 'instance' = 'billing',
): Promise<void> {
  const working = await sql<{ id: string }[]>`
    select id
    from channels
    where org_id = ${orgId} and deleted_at is null and not disabled and not refresh_needed
      and not exists (select 1 from organizations o where o.id = ${orgId} and o.disabled_at is not null)
    order by id
    for update`;
  for (const { id } of working) {
    await catchUpStopped(sql, orgId, id);
    await sql`
      with channel as (
        select id, org_id, false as stopped, brakes, deleted_at
        from channels
        where org_id = ${orgId}
          and id = ${id}
      ), ${resumePosts(sql, orgId, followUps, reason)}
      update channels c
      set next_due_at = next.due_at, reminder_due_at = null, due_version = c.due_version + 1, updated_at = now()
      from channel o, next
      where c.org_id = ${orgId}
        and c.id = o.id`;
  }
}

export interface LoggedIn {
  /** For a channel that is new. */
  newId: string;
  providerId: string;
  providerVersion: string;
  internalId: string;
  name: string;
  handle: string;
  picture: string | null;
  /** Sealed. */
  credentials: string;
  tokenExpiresAt: Date | null;
  /** Whether the login of a channel that is there may be replaced. */
  mayReplace: boolean;
  /** Called in the transaction, before anything is written; what it throws ends it. */
  claim?(sql: Sql): Promise<void>;
}

/**
 * Writes a login: a new channel, or the one of the same account, which works from then on with its posts (S135, S136,
 * S246). Deleted less than 30 days ago, it comes back with the posts that went with it. Where the plan has no room for
 * one more, a new channel is refused; one that is there keeps its new login and is disabled, and `full` says why. Who
 * may only create channels does not replace the login of one: a server that they name may claim any account.
 */
export async function saveLogin(
  database: Database,
  starting: Starting,
  orgId: string,
  login: LoggedIn,
  by?: AuditActor,
): Promise<SavedLogin> {
  const write = async (sql: Sql, found: Found | undefined) => {
    await login.claim?.(sql);
    if (found && !found.deleted && !login.mayReplace)
      throw new AppError(
        'forbidden',
        'This account has a channel already: to log it in again, your role needs the permission channels:update',
      );
    const saved = await save(sql, starting, orgId, login, found);
    if (saved)
      await note(sql, orgId, by, 'connected', saved.id, {
        provider: login.providerId,
        name: login.name,
        again: !saved.created,
      });
    return saved;
  };
  for (let tries = 0; ; tries++) {
    const saved = await locked(database, orgId, login, write, starting.billing);
    if (saved) return saved;
    // somebody else inserted it meanwhile: the next look finds it
    if (tries > 3) throw new Error('The channel of this account is being connected and deleted at once');
  }
}
export interface SavedLogin {
  id: string;
  created: boolean;
  full?: AppError | undefined;
}

/**
 * The refusal where the plan has no room for the channel that logs in. One that counts already, or stays disabled,
 * takes no room.
 */
async function fullFor(sql: Sql, plan: Plan, orgId: string, found: Found | undefined): Promise<AppError | undefined> {
  const here = found !== undefined && !found.deleted;
  if (here && (found.disabled || !found.refreshNeeded)) return undefined;
  try {
    await plan.admit(sql, orgId, 'channel');
    return undefined;
  } catch (error) {
    if (here && error instanceof AppError && error.code === 'limit_exceeded') return error;
    throw error;
  }
}

async function save(
  sql: Sql,
  { billing: plan, followUps }: Starting,
  orgId: string,
  login: LoggedIn,
  found: Found | undefined,
): Promise<SavedLogin | undefined> {
  const full = await fullFor(sql, plan, orgId, found);
  if (found && !full && (found.deleted || !found.disabled)) await catchUpStopped(sql, orgId, found.id);
  const [row] = await sql<{ id: string; created: boolean }[]>`
      with channel as (
        select id, org_id, (disabled or ${full !== undefined}) and deleted_at is null as stopped, brakes,
          deleted_at
        from channels
        where org_id = ${orgId}
          and provider_id = ${login.providerId}
          and internal_id = ${login.internalId}
        for update
      ), ${resumePosts(sql, orgId, followUps)}, refreshed as (${refresh(sql, orgId, login)}
      ), inserted as (
        insert into channels (
          id, org_id, provider_id, provider_version, internal_id, name, handle, picture, credentials, token_expires_at,
          brakes
        )
        select ${login.newId}::uuid, ${orgId}::uuid, ${login.providerId}, ${login.providerVersion}, ${login.internalId},
          ${login.name}, ${login.handle}, ${login.picture}, ${login.credentials}, ${login.tokenExpiresAt}::timestamptz,
          ${marksOfNewChannel(sql, orgId)}
        where not exists (select from channel)
        on conflict (org_id, provider_id, internal_id) do nothing
        returning ${returned(sql)}
      ), connected as (
        select ${returned(sql)}, false as created from refreshed
        union all
        select ${returned(sql)}, true from inserted
      ), ${announce(sql, {
        'channel.connected': { from: sql`connected`, payload: channelFact(sql) },
        'channel.disabled': {
          from: sql`connected where ${full !== undefined}`,
          payload: { ...channelFact(sql), reason: sql`'plan'` },
        },
      })}
      select id, created from connected`;
  return row && { ...row, full };
}

/** Gives the channel its new login, and starts it where it does not stand still. */
const refresh = (sql: Sql, orgId: string, login: LoggedIn): Fragment => sql`
        update channels c
        set provider_version = ${login.providerVersion}, handle = ${login.handle}, credentials = ${login.credentials},
          token_expires_at = ${login.tokenExpiresAt},
          name = case when c.renamed then c.name else ${login.name} end,
          picture = case when c.renamed then c.picture else ${login.picture} end,
          disabled = o.stopped, refresh_needed = false, refresh_reason = null, refresh_claim = null,
          refresh_until = null,
          deleted_at = null, next_due_at = case when o.stopped then null else next.due_at end, reminder_due_at = null,
          due_version = c.due_version + 1, updated_at = now()
        from channel o, next
        where c.org_id = ${orgId}
          and c.id = o.id
        returning c.id, c.org_id, c.provider_id, c.name`;
