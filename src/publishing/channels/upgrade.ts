import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import { checkSettings, type Lifecycle, type SocialAdapter } from '../../providers/registry/index.ts';
import { connectLogin } from './connection.ts';
import { type Credentials, sealCredentials } from './credentials.ts';
import { type ChannelsDeps, getChannelRow, unknownChannel } from './deps.ts';
import { loginOfChannel, sealedOf } from './login-store.ts';
import { adapterOfChannel } from './reading.ts';
import { loginExpiry } from './rules.ts';
import { otherAccount, tried } from './connect/save-account.ts';
import type { ChannelRow } from './store.ts';

/** The version that a channel is pinned to, and the newest that it could have. */
export interface VersionView {
  version: string;
  status: Lifecycle;
  upgradeAvailable: string | null;
}

export async function findUpgrade(
  deps: Pick<ChannelsDeps, 'sql' | 'providers'>,
  orgId: string,
  id: string,
): Promise<VersionView> {
  const row = await getChannelRow(deps, orgId, id);
  const adapter = adapterOfChannel(deps, row);
  const newest = newestOf(deps, row.providerId);
  return {
    version: row.providerVersion,
    status: adapter ? deps.providers.status(adapter) : 'retired',
    upgradeAvailable: newest && newest.version !== row.providerVersion ? newest.version : null,
  };
}

/**
 * Moves a channel to another version of its network; nothing else does, but a new login where the version is retired.
 * Its settings, its fields and its login must be good there.
 * @throws AppError as `resolve` for the version, 400 for settings, 409 while it needs a login or is being changed
 */
export async function upgradeChannel(
  deps: ChannelsDeps,
  orgId: string,
  id: string,
  { version, allowPreview }: { version: string; allowPreview?: boolean | undefined },
  by: AuditActor,
): Promise<void> {
  const row = await getChannelRow(deps, orgId, id);
  const from = row.providerVersion;
  const use = version === from ? 'pinned' : 'new';
  const next = deps.providers.resolve('social', row.providerId, { version, allowPreview, use });
  if (version === from) return;
  checkSettings(next, row.settings, 'additionalSettings');
  const { sealed, credentials } = await checkedLogin(deps, row, next);
  const moved = await deps.sql.begin(async (sql) => {
    const isMoved = await moveVersion(sql, orgId, id, {
      from,
      to: version,
      seen: sealed,
      credentials: sealCredentials(deps.vault, credentials),
      tokenExpiresAt: loginExpiry(credentials, deps.providers.renewalOf(next, credentials.tokens)),
    });
    if (isMoved)
      await writeAudit(sql, by, {
        orgId,
        action: 'channel.upgraded',
        resource: 'channels',
        resourceId: id,
        detail: { provider: row.providerId, from, to: version },
      });
    return isMoved;
  });
  if (!moved) throw new AppError('conflict', 'The channel was changed meanwhile: try again');
}

/** The login of a channel, which the other version has used: renewed by the version that made it. */
async function checkedLogin(deps: ChannelsDeps, channel: ChannelRow, next: SocialAdapter) {
  const { orgId, id, internalId } = channel;
  const stored = await sealedOf(deps.sql, orgId, id);
  if (!stored) throw unknownChannel();
  if (stored.refreshNeeded) throw new AppError('conflict', 'The channel needs a new login first');
  const egressRoute = await deps.egress.egressRouteOf(orgId, id);
  const adapter = adapterOfChannel(deps, channel) ?? next;
  const target = { orgId, row: loginOfChannel(deps, orgId, id), adapter, egressRoute };
  const login = await tried(adapter, connectLogin(deps, target, stored.credentials));
  const { sealed, credentials } = login.current();
  const values = deps.providers.fields(next, credentials.values, 'credentials.');
  const moved: Credentials = { ...credentials, values };
  const profile = await tried(next, deps.providers.connect(next, { ...moved, egressRoute }).profile());
  if (profile.id !== internalId) throw otherAccount();
  return { sealed, credentials: moved };
}

function newestOf({ providers }: Pick<ChannelsDeps, 'providers'>, providerId: string): SocialAdapter | undefined {
  try {
    return providers.resolve('social', providerId);
  } catch {
    return undefined; // none is active
  }
}

/** A channel on its way to another version; `seen`: its sealed login, as the move was judged by it. */
interface VersionMove {
  from: string;
  to: string;
  seen: string;
  credentials: string;
  tokenExpiresAt: Date | null;
}
/** Pins a channel to another version; false: it or its login was changed meanwhile. */
async function moveVersion(sql: Sql, orgId: string, id: string, move: VersionMove): Promise<boolean> {
  const rows = await sql`
    update channels
    set provider_version = ${move.to}, credentials = ${move.credentials}, token_expires_at = ${move.tokenExpiresAt},
      server_limits_due_at = now(), updated_at = now()
    where org_id = ${orgId}
      and id = ${id}
      and provider_version = ${move.from}
      and credentials = ${move.seen}
      and deleted_at is null
      and not refresh_needed
    returning 1`;
  return rows.length > 0;
}
