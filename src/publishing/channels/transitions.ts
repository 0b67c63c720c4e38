import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import { announce } from '../../platform/outbox/index.ts';

// Locks are taken in this order: what counts for the org, where the move may raise it, the channel's row, then its posts. Posts that are on their way (publishing, processing,
// unconfirmed) are left to those who publish them.

/**
 * Makes a move with the channel's row locked before its statement looks at anything: one that waited for the lock in its midst would
 * see the posts as they were before it waited, and leave some of them standing.
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
    const which = 'id' in channel ? transaction`id = ${channel.id}` : transaction`provider_id = ${channel.providerId} and internal_id = ${channel.internalId}`;
    const [found] = await transaction<Found[]>`
      select disabled, refresh_needed as "refreshNeeded", deleted_at is not null as deleted from channels where org_id = ${orgId} and ${which} for update`;
    results.push(await move(transaction, found));
  });
  return results[0]!;
}
/** The row as it was locked. */
interface Found {
  disabled: boolean;
  refreshNeeded: boolean;
  deleted: boolean;
}
type Plan = Pick<Billing, 'lockOrg' | 'admit'>;

/** What a person did, in the commit of the move; moves that the service makes by itself have no actor. */
async function note(sql: Sql, orgId: string, by: AuditActor | undefined, done: string, id: string, detail = {}): Promise<void> {
  if (by) await writeAudit(sql, by, { orgId, action: `channel.${done}`, resource: 'channels', resourceId: id, detail });
}

/** What every fact of a channel says. */
const channelFact = (sql: Sql) => ({ providerId: sql`provider_id`, name: sql`name` });
/** What every fact of a post says, from its row and its channel's `provider_id` and `channel_name`. */
const postFact = (sql: Sql) => ({
  channelId: sql`channel_id`,
  providerId: sql`provider_id`,
  channelName: sql`channel_name`,
  rootPostId: sql`root_post_id`,
  groupId: sql`group_id`,
  content: sql`content`,
  publishDate: sql`publish_date`,
});

/** Stops the posts that wait in the rows of `channel`, and writes down why. */
const pausePosts = (sql: Sql, orgId: string, message: string, reason: 'channel' | 'billing' | 'instance' = 'channel') => sql`
  paused as (
    update posts p set detail = 'paused', updated_at = now() from channel c
    where p.org_id = ${orgId} and p.channel_id = c.id and p.state = 'QUEUE' and p.detail in ('scheduled', 'retrying') and p.due_at is not null and p.deleted_at is null
    returning p.id, p.org_id, p.channel_id
  ), noted as (
    insert into post_timeline (org_id, post_id, kind, message) select ${orgId}, id, 'paused', ${message} from paused
  ), ${announce(sql, { 'post.paused': { from: sql`paused`, payload: { channelId: sql`channel_id`, reason: sql`${reason}::text` } } })}`;

/** A person must log in again (S137). False: already known, deleted, or `seen` is given and no longer the login in use. */
export function needsLogin(database: Database, orgId: string, id: string, reason: string, seen?: string): Promise<boolean> {
  return locked(database, orgId, { id }, async (sql) => {
    const rows = await sql`
      with channel as (
        update channels set refresh_needed = true, refresh_reason = ${reason}, refresh_claim = null, refresh_until = null, next_due_at = null, reminder_due_at = null, updated_at = now()
        where org_id = ${orgId} and id = ${id} and deleted_at is null and not refresh_needed ${seen === undefined ? sql`` : sql`and credentials = ${seen}`}
        returning id, org_id, provider_id, name
      ), ${pausePosts(sql, orgId, 'The channel needs a new login')},
      ${announce(sql, { 'channel.refresh_needed': { from: sql`channel`, payload: { ...channelFact(sql), reason: sql`${reason}::text` } } })}
      select id from channel`;
    return rows.length > 0;
  });
}

/** Why a channel was stopped, in the event `channel.disabled`. */
type Why = 'person' | 'plan';
const STOPPED: Record<Why, string> = { person: 'The channel was disabled', plan: 'The plan has no room for this channel' };

/** Stops a channel whose row is locked, and the posts that wait in it. False: it is stopped already, or deleted. */
async function stop(sql: Sql, orgId: string, id: string, why: Why): Promise<boolean> {
  const rows = await sql`
    with channel as (
      update channels set disabled = true, next_due_at = null, reminder_due_at = null, updated_at = now()
      where org_id = ${orgId} and id = ${id} and deleted_at is null and not disabled
      returning id, org_id, provider_id, name
    ), ${pausePosts(sql, orgId, STOPPED[why])},
    ${announce(sql, { 'channel.disabled': { from: sql`channel`, payload: { ...channelFact(sql), reason: sql`${why}::text` } } })}
    select id from channel`;
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

/** Stops every channel of an org that is taken out of use, in the transaction that does so; whoever brings it back starts them again. */
export async function stopAll(sql: Sql, orgId: string, message: string): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and deleted_at is null order by id for update`;
  await sql`
    with channel as (
      update channels set disabled = true, next_due_at = null, reminder_due_at = null, updated_at = now() where org_id = ${orgId} and deleted_at is null and not disabled returning id
    ), ${pausePosts(sql, orgId, message)}
    select 1 from channel`;
}

/** Stops the posts that wait in the channels of an org, in the transaction that decides so; the channels themselves work on. */
export async function pauseQueue(sql: Sql, orgId: string, message: string, reason: 'billing' | 'instance' = 'billing'): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and deleted_at is null order by id for update`;
  await sql`
    with channel as (
      update channels set next_due_at = null, reminder_due_at = null, updated_at = now() where org_id = ${orgId} and deleted_at is null and not disabled and not refresh_needed returning id
    ), ${pausePosts(sql, orgId, message, reason)}
    select 1 from channel`;
}

/** Deletes a channel with its unpublished posts (S136). False: it is deleted already. */
export function remove(database: Database, orgId: string, id: string, by?: AuditActor): Promise<boolean> {
  return locked(database, orgId, { id }, async (sql) => {
    const rows = await sql`
      with channel as (
        update channels set deleted_at = now(), next_due_at = null, reminder_due_at = null, updated_at = now()
        where org_id = ${orgId} and id = ${id} and deleted_at is null
        returning id, org_id, provider_id, name
      ), gone as (
        update posts p set deleted_at = now(), updated_at = now() from channel c
        where p.org_id = ${orgId} and p.channel_id = c.id and p.state <> 'PUBLISHED' and p.deleted_at is null
          and not (p.state = 'QUEUE' and p.detail in ('publishing', 'processing', 'unconfirmed'))
        returning p.id, p.org_id, p.channel_id, p.root_post_id, p.group_id, p.content, p.publish_date, p.state, p.detail, c.provider_id, c.name as channel_name
      ), noted as (
        insert into post_timeline (org_id, post_id, kind, message) select ${orgId}, id, 'cancelled', 'The channel was deleted' from gone
      ), ${announce(sql, {
        'post.deleted': { from: sql`gone`, payload: { ...postFact(sql), state: sql`state`, detail: sql`detail` } },
        'channel.deleted': { from: sql`channel`, payload: { ...channelFact(sql), reason: sql`'person'` } },
      })}
      select id from channel`;
    if (rows.length > 0) await note(sql, orgId, by, 'deleted', id);
    return rows.length > 0;
  });
}

// A post that waited in a stopped channel and is late: up to 24 h it is published (`publish`), else a person decides
// (`ask`: it stays paused), or it is given up (`drop`). S135. What an org had queued when its grace period ended unpaid waits for the
// payment, whatever is done to its channels (S80).
const policy = (sql: Sql, orgId: string) => sql`
  policy as (
    select choice, case choice when 'publish' then now() - interval '24 hours' else now() end as horizon,
      (select grace_period_end from subscriptions where org_id = ${orgId} and lapsed) as unpaid_since
    from (select coalesce(settings->>'reconnectPolicy', 'publish') as choice from organizations where id = ${orgId}) o
  )`;
const owed = (sql: Sql) => sql`coalesce(p.created_at < policy.unpaid_since, false)`;
/** What becomes of a post of the channel row `c`: `p` the post, `policy` the rule; `c.stopped` when the channel still stands still. */
const moved = (sql: Sql) => {
  const waits = sql`(p.state = 'QUEUE' and p.detail in ('paused', 'scheduled', 'retrying'))`;
  const late = sql`(p.publish_date < policy.horizon)`;
  const stands = sql`(c.stopped or ${owed(sql)})`;
  const dropped = sql`(${waits} and ${late} and policy.choice = 'drop' and not ${stands})`;
  const runs = sql`(${waits} and not ${late} and not ${stands})`;
  return sql`
    state = case when ${dropped} then 'ERROR' else p.state end,
    detail = case when ${dropped} then 'missed' when ${runs} then 'scheduled' when ${waits} then 'paused' else p.detail end,
    error_kind = case when ${dropped} then 'missed' else p.error_kind end,
    error = case when ${dropped} then 'The channel was not connected when this post was due' else p.error end,
    due_at = case when ${dropped} then null when ${runs} and (p.due_at is not null or p.root_post_id is null) then greatest(coalesce(p.due_at, p.publish_date), now()) else p.due_at end,
    deleted_at = null, updated_at = now()`;
};
/** CTEs `moved` (posts that waited), `restored` (posts that were deleted with the channel) and `next`, over the CTE `channel (id, stopped, deleted_at)`. */
const resumePosts = (sql: Sql, orgId: string) => sql`
  ${policy(sql, orgId)}, moved as (
    update posts p set ${moved(sql)} from channel c, policy
    where p.org_id = ${orgId} and p.channel_id = c.id and p.state = 'QUEUE' and p.detail = 'paused' and p.deleted_at is null
      and not c.stopped and not ${owed(sql)} and (p.publish_date >= policy.horizon or policy.choice = 'drop')
    returning p.id, p.org_id, p.channel_id, p.root_post_id, p.group_id, p.content, p.publish_date, p.state, p.detail, p.due_at, p.error, p.attempt
  ), restored as (
    update posts p set ${moved(sql)} from channel c, policy
    where p.org_id = ${orgId} and p.channel_id = c.id and p.deleted_at = c.deleted_at and c.deleted_at > now() - interval '30 days' and p.state <> 'PUBLISHED'
    returning p.id, p.org_id, p.channel_id, p.root_post_id, p.group_id, p.content, p.publish_date, p.state, p.detail, p.due_at, p.error, p.attempt
  ), touched as (
    select * from moved union all select * from restored
  ), resumed as (
    select id, org_id, channel_id from touched where state = 'QUEUE' and detail = 'scheduled'
  ), given_up as (
    select t.*, c.provider_id, c.name as channel_name
    from touched t
    join channels c on c.id = t.channel_id and c.org_id = t.org_id
    where t.state = 'ERROR' and t.detail = 'missed'
  ), abandoned as (
    update posts p set state = 'ERROR', detail = 'missed', error_kind = 'missed', error = 'The item of the thread before it was not published', updated_at = now()
    from given_up g where p.org_id = ${orgId} and p.root_post_id = g.id and p.state = 'QUEUE' and p.detail = 'scheduled' and p.due_at is null and p.deleted_at is null
    returning p.id
  ), noted as (
    insert into post_timeline (org_id, post_id, kind, message)
    select ${orgId}::uuid, id, 'resumed', 'The channel works again' from resumed
    union all select ${orgId}::uuid, id, 'failed', 'Missed while the channel was not connected' from given_up
    union all select ${orgId}::uuid, id, 'failed', 'The item of the thread before it was not published' from abandoned
  ), ${announce(sql, {
    'post.resumed': { from: sql`resumed`, payload: { channelId: sql`channel_id`, reason: sql`'channel'` } },
    'post.failed': {
      from: sql`given_up`,
      payload: { ...postFact(sql), errorKind: sql`'missed'`, error: sql`error`, detail: sql`detail`, attempts: sql`attempt`, retryable: sql`false` },
    },
  })}, next as (
    select min(due_at) as due_at from (
      select due_at from touched where state = 'QUEUE' and detail = 'scheduled'
      union all
      select p.due_at from posts p join channel c on p.channel_id = c.id and not c.stopped
      where p.state = 'QUEUE' and p.detail in ('scheduled', 'retrying') and p.due_at is not null and p.deleted_at is null
    ) waiting
  )`;

/** Starts a disabled channel, and the posts that wait in it unless it needs a login. False: it is not disabled, or deleted. 402 where the plan has no room for it. */
export function enable(database: Database, plan: Plan, orgId: string, id: string, by?: AuditActor): Promise<boolean> {
  const start = async (sql: Sql, found: Found | undefined): Promise<boolean> => {
    if (found?.disabled && !found.deleted && !found.refreshNeeded) await plan.admit(sql, orgId, 'channel');
    const rows = await sql`
      with channel as (
        select id, refresh_needed as stopped, deleted_at from channels where org_id = ${orgId} and id = ${id} and deleted_at is null and disabled for update
      ), ${resumePosts(sql, orgId)}
      update channels c set disabled = false, next_due_at = case when o.stopped then null else next.due_at end, reminder_due_at = null, due_version = c.due_version + 1, updated_at = now()
      from channel o, next where c.org_id = ${orgId} and c.id = o.id
      returning c.id`;
    if (rows.length > 0) await note(sql, orgId, by, 'enabled', id);
    return rows.length > 0;
  };
  return locked(database, orgId, { id }, start, plan);
}

/** Starts the posts that wait in the working channels of an org, after `pauseQueue`, unless the org is disabled; what is late meanwhile follows the org's rule (S135). */
export async function resumeQueue(sql: Sql, orgId: string): Promise<void> {
  const working = await sql<{ id: string }[]>`
    select id from channels
    where org_id = ${orgId} and deleted_at is null and not disabled and not refresh_needed
      and not exists (select 1 from organizations o where o.id = ${orgId} and o.disabled_at is not null)
    order by id for update`;
  for (const { id } of working)
    await sql`
      with channel as (
        select id, false as stopped, deleted_at from channels where org_id = ${orgId} and id = ${id}
      ), ${resumePosts(sql, orgId)}
      update channels c set next_due_at = next.due_at, reminder_due_at = null, due_version = c.due_version + 1, updated_at = now()
      from channel o, next where c.org_id = ${orgId} and c.id = o.id`;
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
}

/**
 * Writes a login: a new channel, or the one of the same account, which works from then on with its posts (S135, S136, S246).
 * Deleted less than 30 days ago, it comes back with the posts that went with it. Where the plan has no room for one more, a new
 * channel is refused; one that is there keeps its new login and is disabled, and `full` says why. Who may only create channels does not
 * replace the login of one: a server that they name may claim any account.
 */
export async function saveLogin(database: Database, plan: Plan, orgId: string, login: LoggedIn, by?: AuditActor): Promise<SavedLogin> {
  const write = async (sql: Sql, found: Found | undefined) => {
    if (found && !found.deleted && !login.mayReplace)
      throw new AppError('forbidden', 'This account has a channel already: to log it in again, your role needs the permission channels:update');
    const saved = await save(sql, plan, orgId, login, found);
    if (saved) await note(sql, orgId, by, 'connected', saved.id, { provider: login.providerId, name: login.name, again: !saved.created });
    return saved;
  };
  for (let tries = 0; ; tries++) {
    const saved = await locked(database, orgId, login, write, plan);
    if (saved) return saved;
    if (tries > 3) throw new Error('The channel of this account is being connected and deleted at once'); // somebody else inserted it meanwhile: the next look finds it
  }
}
export interface SavedLogin {
  id: string;
  created: boolean;
  full?: AppError | undefined;
}

/** The refusal where the plan has no room for the channel that logs in. One that counts already, or stays disabled, takes no room. */
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

async function save(sql: Sql, plan: Plan, orgId: string, login: LoggedIn, found: Found | undefined): Promise<SavedLogin | undefined> {
  const full = await fullFor(sql, plan, orgId, found);
  const [row] = await sql<{ id: string; created: boolean }[]>`
      with channel as (
        select id, (disabled or ${full !== undefined}) and deleted_at is null as stopped, deleted_at from channels
        where org_id = ${orgId} and provider_id = ${login.providerId} and internal_id = ${login.internalId} for update
      ), ${resumePosts(sql, orgId)}, refreshed as (
        update channels c set
          provider_version = ${login.providerVersion}, handle = ${login.handle}, credentials = ${login.credentials}, token_expires_at = ${login.tokenExpiresAt},
          name = case when c.renamed then c.name else ${login.name} end, picture = case when c.renamed then c.picture else ${login.picture} end,
          disabled = o.stopped, refresh_needed = false, refresh_reason = null, refresh_claim = null, refresh_until = null, deleted_at = null,
          next_due_at = case when o.stopped then null else next.due_at end, reminder_due_at = null, due_version = c.due_version + 1, updated_at = now()
        from channel o, next where c.org_id = ${orgId} and c.id = o.id
        returning c.id, c.org_id, c.provider_id, c.name
      ), inserted as (
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, handle, picture, credentials, token_expires_at)
        select ${login.newId}::uuid, ${orgId}::uuid, ${login.providerId}, ${login.providerVersion}, ${login.internalId}, ${login.name}, ${login.handle}, ${login.picture}, ${login.credentials}, ${login.tokenExpiresAt}::timestamptz
        where not exists (select from channel)
        on conflict (org_id, provider_id, internal_id) do nothing
        returning id, org_id, provider_id, name
      ), settled as (
        select *, false as created from refreshed union all select *, true from inserted
      ), ${announce(sql, {
        'channel.connected': { from: sql`settled`, payload: channelFact(sql) },
        'channel.disabled': { from: sql`settled where ${full !== undefined}`, payload: { ...channelFact(sql), reason: sql`'plan'` } },
      })}
      select id, created from settled`;
  return row && { ...row, full };
}
