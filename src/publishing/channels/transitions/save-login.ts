import type { AuditActor } from '../../../platform/audit/index.ts';
import type { Database, Fragment, Sql } from '../../../platform/db/index.ts';
import { AppError } from '../../../platform/kernel/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { catchUpStopped, marksOfNewChannel, orgIsDisabled, resumePosts } from '../../posts/index.ts';
import {
  auditChannel,
  channelFact,
  type ChannelPlan,
  factColumns,
  type LockedChannel,
  nextDueTime,
  type StartDeps,
  withLockedChannel,
} from './locked-channel.ts';

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
 * S246); in an org that is disabled they wait on. Deleted less than 30 days ago, it comes back with the posts that went
 * with it. Where the plan has no room for one more, a new channel is refused; one that is there keeps its new login and
 * is disabled, and `full` says why. Who may only create channels does not replace the login of one: a server that they
 * name may claim any account.
 */
export async function saveLogin(
  database: Database,
  starting: StartDeps,
  orgId: string,
  login: LoggedIn,
  by?: AuditActor,
): Promise<SavedLogin> {
  const write = async (sql: Sql, found: LockedChannel | undefined) => {
    await login.claim?.(sql);
    if (found && !found.deleted && !login.mayReplace)
      throw new AppError(
        'forbidden',
        'This account has a channel already: to log it in again, your role needs the permission channels:update',
      );
    const saved = await save(sql, starting, orgId, login, found);
    if (saved)
      await auditChannel(sql, orgId, by, 'connected', saved.id, {
        provider: login.providerId,
        name: login.name,
        again: !saved.created,
      });
    return saved;
  };
  for (let tries = 0; ; tries++) {
    const saved = await withLockedChannel(database, orgId, login, write, starting.billing);
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
async function fullFor(
  sql: Sql,
  plan: ChannelPlan,
  orgId: string,
  found: LockedChannel | undefined,
): Promise<AppError | undefined> {
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
  { billing: plan, followUps }: StartDeps,
  orgId: string,
  login: LoggedIn,
  found: LockedChannel | undefined,
): Promise<SavedLogin | undefined> {
  const full = await fullFor(sql, plan, orgId, found);
  if (!found) return insert(sql, orgId, login);
  if (!full && (found.deleted || !found.disabled)) await catchUpStopped(sql, orgId, found.id);
  await sql`
    with channel as (
      select id, org_id, brakes, deleted_at, is_disabled, is_disabled or ${orgIsDisabled(sql)} as stopped
      from channels c
      cross join lateral (select (disabled or ${full !== undefined}) and deleted_at is null as is_disabled) d
      where org_id = ${orgId}
        and id = ${found.id}
    ), ${resumePosts(sql, orgId, followUps)}, refreshed as (${refresh(sql, orgId, login)}
    ), ${announce(sql, {
      'channel.connected': { from: sql`refreshed`, payload: channelFact(sql) },
      'channel.disabled': {
        from: sql`refreshed where ${full !== undefined}`,
        payload: { ...channelFact(sql), reason: sql`'plan'` },
      },
    })}
    select 1`;
  return { id: found.id, created: false, full };
}

/** Writes a new channel; undefined where somebody else has just done so. */
async function insert(sql: Sql, orgId: string, login: LoggedIn): Promise<SavedLogin | undefined> {
  const [row] = await sql<{ id: string }[]>`
    with inserted as (
      insert into channels (
        id, org_id, provider_id, provider_version, internal_id, name, handle, picture, credentials, token_expires_at,
        brakes
      )
      select ${login.newId}::uuid, ${orgId}::uuid, ${login.providerId}, ${login.providerVersion}, ${login.internalId},
        ${login.name}, ${login.handle}, ${login.picture}, ${login.credentials}, ${login.tokenExpiresAt}::timestamptz,
        ${marksOfNewChannel(sql, orgId)}
      on conflict (org_id, provider_id, internal_id) do nothing
      returning ${factColumns(sql)}
    ), ${announce(sql, { 'channel.connected': { from: sql`inserted`, payload: channelFact(sql) } })}
    select id from inserted`;
  return row && { ...row, created: true };
}

/** Gives the channel its new login, and starts it where nothing stops it. */
const refresh = (sql: Sql, orgId: string, login: LoggedIn): Fragment => sql`
      update channels c
      set provider_version = ${login.providerVersion}, handle = ${login.handle}, credentials = ${login.credentials},
        token_expires_at = ${login.tokenExpiresAt},
        name = case when c.renamed then c.name else ${login.name} end,
        picture = case when c.renamed then c.picture else ${login.picture} end,
        disabled = o.is_disabled, refresh_needed = false, refresh_reason = null, refresh_claim = null,
        refresh_until = null,
        deleted_at = null, ${nextDueTime(sql)}
      from channel o, next
      where c.org_id = ${orgId}
        and c.id = o.id
      returning c.id, c.org_id, c.provider_id, c.name`;
