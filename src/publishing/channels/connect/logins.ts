import type { Sql } from '../../../platform/db/index.ts';

export interface NewState {
  stateHash: Buffer;
  orgId: string;
  userId: string;
  providerId: string;
  providerVersion: string;
  sealed: string;
  refreshChannelId: string | null;
  returnUrl: string | null;
}

/** Remembers a login that has begun. */
export async function insertState(sql: Sql, state: NewState, lifeMs: number): Promise<void> {
  await sql`
    insert into connect_states (state_hash, org_id, user_id, provider_id, provider_version, sealed, refresh_channel_id,
      return_url, expires_at)
    values (${state.stateHash}, ${state.orgId}, ${state.userId}, ${state.providerId}, ${state.providerVersion},
      ${state.sealed}, ${state.refreshChannelId}, ${state.returnUrl},
      now() + ${lifeMs}::float8 * interval '1 ms')`;
}

/** Forgets at most `limit` logins that nobody ended in time; answers how many. */
export async function dropOldStates(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from connect_states
    where state_hash = any(array(
      select state_hash
      from connect_states /* all orgs */
      where expires_at < now()
      order by expires_at
      limit ${limit}
    ))`;
  return count;
}

/** Whose login it is. */
export interface StateKey {
  orgId: string;
  userId: string;
  providerId: string;
  stateHash: Buffer;
}
const ofPerson = (sql: Sql, { userId, providerId, stateHash }: StateKey) => sql`
  state_hash = ${stateHash} and user_id = ${userId} and provider_id = ${providerId}
  and expires_at > now()`;
const columns = (sql: Sql) => sql`
  state_hash as "stateHash", org_id as "orgId", user_id as "userId", provider_id as "providerId",
  provider_version as "providerVersion", sealed, refresh_channel_id as "refreshChannelId", return_url as "returnUrl"`;

/**
 * Uses up a state; undefined: unknown, expired, used before, or begun by somebody else, elsewhere or for another
 * network.
 */
export async function takeState(sql: Sql, key: StateKey): Promise<NewState | undefined> {
  const [row] = await sql<NewState[]>`
    delete from connect_states
    where org_id = ${key.orgId} and ${ofPerson(sql, key)}
    returning ${columns(sql)}`;
  return row;
}

/** Reads a state that is not used up yet; undefined as above. */
export async function findState(sql: Sql, key: StateKey): Promise<NewState | undefined> {
  const [row] = await sql<NewState[]>`
    select ${columns(sql)}
    from connect_states
    where org_id = ${key.orgId} and ${ofPerson(sql, key)}`;
  return row;
}

export interface AppKey {
  providerId: string;
  server: string;
  redirectUri: string;
}
export interface StoredApp {
  clientId: string;
  clientSecret: string;
}

/** The app that was registered at a server at most `maxAgeMs` ago; its secret is sealed. */
export async function registeredApp(
  sql: Sql,
  { providerId, server, redirectUri }: AppKey,
  maxAgeMs: number,
): Promise<StoredApp | undefined> {
  const [row] = await sql<StoredApp[]>`
    select client_id as "clientId", client_secret as "clientSecret"
    from provider_apps /* all orgs */
    where domain = 'social'
      and provider_id = ${providerId}
      and server = ${server}
      and redirect_uri = ${redirectUri}
      and created_at > now() - ${maxAgeMs}::float8 * interval '1 ms'`;
  return row;
}

export const saveApp = (sql: Sql, key: AppKey & { providerVersion: string }, app: StoredApp): Promise<unknown> =>
  sql`
    insert into provider_apps (domain, provider_id, provider_version, server, redirect_uri, client_id, client_secret)
    values ('social', ${key.providerId}, ${key.providerVersion}, ${key.server}, ${key.redirectUri}, ${app.clientId},
      ${app.clientSecret})
    on conflict (domain, provider_id, server, redirect_uri) do update
    set client_id = excluded.client_id,
      client_secret = excluded.client_secret, created_at = now()`;
