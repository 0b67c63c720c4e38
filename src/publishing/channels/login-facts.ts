import type { Sql } from '../../platform/db/index.ts';
import type { LoginFacts } from '../posts/index.ts';
import { pacesOf, pinnedAdapter } from './connection.ts';
import { openCredentials } from './credentials.ts';
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
    const adapter = pinnedAdapter(deps, row);
    const { account, app, tokens } = openCredentials(deps.vault, row.credentials);
    return {
      channelId: row.id,
      endsAt: deps.providers.renewalOf(adapter, tokens) === 'none' ? row.tokenExpiresAt : null,
      paces: pacesOf(adapter, account, app),
    };
  });
}
