import type { Sql } from '../../platform/db/index.ts';
import type { Vault } from '../../platform/kernel/index.ts';
import type { LoginFacts } from '../posts/index.ts';
import { pacesOf, pinnedAdapter } from './connection.ts';
import { type Credentials, openCredentials } from './credentials.ts';
import type { ChannelsDeps } from './deps.ts';

interface SealedLogin {
  id: string;
  providerId: string;
  providerVersion: string;
  credentials: string;
  tokenExpiresAt: Date | null;
}
const findSealed = (sql: Sql, orgId: string, ids: readonly string[]): Promise<SealedLogin[]> => sql<SealedLogin[]>`
  select id, provider_id as "providerId", provider_version as "providerVersion", credentials,
    token_expires_at as "tokenExpiresAt"
  from channels
  where org_id = ${orgId}
    and id = any(${[...ids]}::uuid[])
    and deleted_at is null`;

/** Reads what is known of the logins of channels; no network is asked. */
export async function loginFacts(
  deps: Pick<ChannelsDeps, 'sql' | 'vault' | 'providers'>,
  orgId: string,
  channelIds: readonly string[],
): Promise<LoginFacts[]> {
  const rows = await findSealed(deps.sql, orgId, channelIds);
  return rows.map((row): LoginFacts => {
    const credentials = readable(deps.vault, row.credentials);
    if (!credentials) return { channelId: row.id, endsAt: row.tokenExpiresAt, paces: [] };
    const { account, app, tokens } = credentials;
    const adapter = pinnedAdapter(deps, row);
    return {
      channelId: row.id,
      endsAt: deps.providers.renewalOf(adapter, tokens) === 'none' ? row.tokenExpiresAt : null,
      paces: pacesOf(adapter, account, app),
    };
  });
}

/** Undefined: the instance has no key for them any more, so no program can renew the login. */
function readable(vault: Vault, sealed: string): Credentials | undefined {
  try {
    return openCredentials(vault, sealed);
  } catch {
    return undefined;
  }
}
