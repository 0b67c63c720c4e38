import type { Context } from '../../src/context.ts';
import { readConfig } from '../../src/platform/config/index.ts';
import type { Database } from '../../src/platform/db/index.ts';
import { idFrom, newId, openVault } from '../../src/platform/kernel/index.ts';
import { sealCredentials } from '../../src/publishing/channels/credentials.ts';
import { saveLogin } from '../../src/publishing/channels/transitions.ts';
import { planFollowUps } from '../../src/publishing/follow-ups/index.ts';
import { JWT_SECRET } from './host.ts';
import { CLASSES, plugOf, providerOf } from './network.ts';
import type { KnownOrg } from './known.ts';
import { Random } from '../support/random.ts';
import { receiverOf } from './receivers.ts';

const vault = openVault(readConfig({ JWT_SECRET }).config.secrets.encryptionKey);
/** The account of a channel is its id. */
const sealedLogin = (channelId: string): string =>
  sealCredentials(vault, { account: channelId, values: {}, grantedAt: new Date() });

/** Stores the organizations of a seed with their channels; notes the network of each channel. */
export async function seedOrgs(
  sql: Database,
  seed: number,
  providers: Map<string, string>,
  withPlugs: boolean,
): Promise<KnownOrg[]> {
  const draw = new Random(seed, 'orgs');
  const orgs: KnownOrg[] = [];
  // half of the seeds are of one class, whose rules meet more often there
  const classes = draw.chance(0.5) ? [draw.pick(CLASSES)] : CLASSES;
  for (let n = 0; n < draw.between(1, 2); n++) {
    const id = idFrom(`${seed} org ${n}`);
    const userId = idFrom(`${seed} user ${n}`);
    const approvals = draw.chance(0.5);
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
      const providerId = providerOf(draw.pick(classes));
      channels.push(channelId);
      providers.set(channelId, providerId);
      await sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        values (${channelId}, ${id}, ${providerId}, 'v1', ${channelId}, 'Channel',
          ${sealedLogin(channelId)})`;
    }
    const most = draw.chance(0.4) ? draw.between(2, 12) : UNBOUNDED;
    await sql`
      insert into subscriptions (id, org_id, tier, period, identifier, total_channels)
      values (${idFrom(`${seed} plan ${n}`)}, ${id}, 'AGENCY', 'MONTHLY', 'sim', 10)`;
    await setLimit(sql, id, most);
    if (draw.chance(0.7)) {
      const webhookId = idFrom(`${seed} webhook ${n}`);
      await sql`
        insert into webhooks (id, org_id, name, url, events)
        values (${webhookId}, ${id}, 'Hook', ${receiverOf(webhookId)}, '{post.published,post.failed}')`;
    }
    if (withPlugs) {
      for (const channelId of channels) await plug(sql, { id, channelId, providerId: providers.get(channelId)! });
    }
    orgs.push({ id, userId, approvals, channels, most });
  }
  return orgs;
}

/** So many posts as no seed makes. */
const UNBOUNDED = 1_000;
/** The posts of a month that the plan of an organization has, as an operator sets them. */
export const setLimit = (sql: Database, orgId: string, posts: number) => sql`
  update organizations
  set limit_overrides = ${JSON.stringify({ posts_per_month: posts })}::text::jsonb
  where id = ${orgId}`;

/** Turns the plug of a channel on. */
const plug = (
  sql: Database,
  { id, channelId, providerId }: { id: string; channelId: string; providerId: string },
) => sql`
  insert into plug_configurations (id, org_id, channel_id, plug_function, fields, next_run_at)
  values (${idFrom(`plug ${channelId}`)}, ${id}, ${channelId},
    ${plugOf(CLASSES.find((once) => providerOf(once) === providerId)!).identifier},
    '[{"name": "likesAmount", "value": "1"}]', now())`;

/** Logs a channel in again, as the end of a login does. */
export async function saveChannel(
  { sql, billing }: Context,
  { orgId, channelId, providerId }: { orgId: string; channelId: string; providerId: string },
): Promise<void> {
  await saveLogin(sql, { billing, followUps: { plan: planFollowUps } }, orgId, {
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
