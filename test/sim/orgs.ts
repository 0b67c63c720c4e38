import { idFrom } from '../../src/platform/kernel/index.ts';
import { Random } from '../support/random.ts';
import { override, subscribe } from '../support/worlds/billing.ts';
import { seedOrg } from '../support/worlds/publishing/world.ts';
import type { KnownChannel, KnownOrg, World } from './known.ts';
import { CLASSES, plugOf, providerOf } from './network.ts';
import { receiverOf } from './receivers.ts';

/** So many posts as no seed makes. */
const UNBOUNDED = 1_000;

/** Stores the organizations of a seed with their channels. */
export async function seedOrgs({ kernel: { seed }, swarm, sql }: Pick<World, 'kernel' | 'swarm' | 'sql'>) {
  const draw = new Random(seed, 'orgs');
  const orgs: KnownOrg[] = [];
  // half of the seeds are of one class, whose rules meet more often there
  const classes = draw.chance(0.5) ? [draw.pick(CLASSES)] : CLASSES;
  for (let left = draw.between(1, 2); left > 0; left--) {
    const { orgId, userId, channelIds } = await seedOrg(sql, draw.between(1, 3));
    const approvals = draw.chance(0.5);
    const missedPolicy = draw.pick(['publish', 'ask', 'drop']);
    const settings = { missedPolicy, ...(approvals && { approvalRequired: 'members' }) };
    await sql`update organizations set settings = ${JSON.stringify(settings)}::text::jsonb where id = ${orgId}`;
    const most = draw.chance(0.4) ? draw.between(2, 12) : UNBOUNDED;
    await subscribe(sql, orgId, { tier: 'AGENCY' });
    await override(sql, orgId, { posts_per_month: most });
    if (draw.chance(0.7)) {
      const webhookId = idFrom(`webhook ${orgId}`);
      await sql`
        insert into webhooks (id, org_id, name, url, events)
        values (${webhookId}, ${orgId}, 'Hook', ${receiverOf(webhookId)}, '{post.published,post.failed}')`;
    }
    const channels = channelIds.map((id): KnownChannel => ({ id, orgId, providerId: providerOf(draw.pick(classes)) }));
    for (const { id, providerId } of channels) {
      await sql`update channels set provider_id = ${providerId} where id = ${id}`;
      if (swarm.withPlugs)
        await sql`
          insert into plug_configurations (id, org_id, channel_id, plug_function, fields, next_run_at)
          values (${idFrom(`plug ${id}`)}, ${orgId}, ${id}, ${plugOf(providerId)},
            '[{"name": "likesAmount", "value": "1"}]', now())`;
    }
    orgs.push({ id: orgId, userId, approvals, channels, most });
  }
  return orgs;
}
