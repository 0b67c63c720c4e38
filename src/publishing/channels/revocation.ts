import type { AuditActor } from '../../platform/audit/index.ts';
import { appOfChannel } from './apps.ts';
import { pinnedAdapter, type Snapshot } from './connection.ts';
import { openCredentials } from './credentials.ts';
import type { ChannelsDeps } from './deps.ts';
import { sealedOf } from './login-store.ts';
import { remove } from './transitions/remove.ts';

/** Ends the login of a deleted channel at its network, where that ends no other one. */
async function revokeLogin(
  deps: Pick<ChannelsDeps, 'vault' | 'providers' | 'settings' | 'egress'>,
  orgId: string,
  login: Snapshot,
): Promise<void> {
  const { vault, providers, egress } = deps;
  const adapter = pinnedAdapter(deps, login);
  if (adapter.login.kind !== 'oauth2' || !adapter.login.revoke) return;
  const credentials = openCredentials(vault, login.credentials);
  if (!credentials.tokens) return;
  const app = await appOfChannel(deps, orgId, adapter, credentials);
  const egressRoute = login.routeId === null ? undefined : await egress.open(orgId, login.routeId);
  await providers.revoke(adapter, { ...credentials, tokens: credentials.tokens, app, egressRoute });
}

/** Deletes a channel and its unpublished posts; true when this call did it. */
export async function removeChannel(deps: ChannelsDeps, orgId: string, id: string, by?: AuditActor): Promise<boolean> {
  const login = await sealedOf(deps.sql, orgId, id);
  const removed = await remove(deps.sql, orgId, id, by);
  // nobody waits for the network, and nothing depends on its answer
  if (removed && login) void revokeLogin(deps, orgId, login).catch(() => undefined);
  return removed;
}
