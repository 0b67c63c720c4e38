import type { Context } from '../../src/context.ts';
import { readConfig } from '../../src/platform/config/index.ts';
import type { Database } from '../../src/platform/db/index.ts';
import { idFrom, newId, openVault } from '../../src/platform/kernel/index.ts';
import { sealCredentials } from '../../src/publishing/channels/credentials.ts';
import { saveLogin } from '../../src/publishing/channels/transitions.ts';
import { JWT_SECRET } from './host.ts';
import { CLASSES, providerOf } from './network.ts';
import type { KnownOrg } from './people.ts';
import { Random } from '../support/random.ts';

const vault = openVault(readConfig({ JWT_SECRET }).config.secrets.encryptionKey);
/** The account of a channel is its id. */
const sealedLogin = (channelId: string): string =>
  sealCredentials(vault, { account: channelId, values: {}, grantedAt: new Date() });

/** Stores the organizations of a seed with their channels; notes the network of each channel. */
export async function seedOrgs(sql: Database, seed: number, providers: Map<string, string>): Promise<KnownOrg[]> {
  const draw = new Random(seed, 'orgs');
  const orgs: KnownOrg[] = [];
  for (let n = 0; n < draw.between(1, 2); n++) {
    const id = idFrom(`${seed} org ${n}`);
    const userId = idFrom(`${seed} user ${n}`);
    const approvals = draw.chance(0.4);
    const settings = {
      missedPolicy: draw.pick(['publish', 'ask', 'drop']),
      ...(approvals && { approvalRequired: 'members' }),
    };
    await sql`
      insert into organizations (id, name, settings)
      values (${id}, 'Acme', ${JSON.stringify(settings)}::text::jsonb)`;
    await sql`
      insert into users (id, email, provider_name, provider_id)
      values (${userId}, ${`${userId}@example.com`}, 'local', ${userId})`;
    const channels: string[] = [];
    for (let c = 0; c < draw.between(1, 3); c++) {
      const channelId = idFrom(`${seed} channel ${n} ${c}`);
      const providerId = providerOf(draw.pick(CLASSES));
      channels.push(channelId);
      providers.set(channelId, providerId);
      await sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        values (${channelId}, ${id}, ${providerId}, 'v1', ${channelId}, 'Channel',
          ${sealedLogin(channelId)})`;
    }
    orgs.push({ id, userId, approvals, channels });
  }
  return orgs;
}

/** Logs a channel in again, as the end of a login does. */
export async function saveChannel(
  { sql, billing }: Context,
  { orgId, channelId, providerId }: { orgId: string; channelId: string; providerId: string },
): Promise<void> {
  await saveLogin(sql, billing, orgId, {
    newId: newId(),
    providerId,
    providerVersion: 'v1',
    internalId: channelId,
    name: 'Channel',
    handle: '',
    picture: null,
    credentials: sealedLogin(channelId),
    tokenExpiresAt: null,
    mayReplace: true,
  });
}
