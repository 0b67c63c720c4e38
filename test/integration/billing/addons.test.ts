import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, type SignedUp, testApp } from '../../support/worlds/app.ts';
import { WITH_BILLING } from '../../support/worlds/billing.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

let world: PayingApp;
beforeAll(async () => (world = await payingApp()));
afterAll(() => world[Symbol.asyncDispose]());

async function subscribed(billing = 'PRO') {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  return { ann, remote: await world.buy(ann, billing) };
}
const extras = async (ann: Awaited<ReturnType<typeof subscribed>>['ann']) =>
  Object.fromEntries(
    Object.entries((await world.subscription(ann)) as Record<string, unknown>).filter(
      ([key, value]) => key.startsWith('extra') && value !== 0,
    ),
  );

describe('packs', () => {
  const PACKS = [
    ['storage_gb', 'extraStorage', 25, 1900, '[AD1]'],
    ['channel', 'extraChannels', 5, 1900, '[AD3]'],
    ['team_members', 'extraTeamSeats', 5, 1500, '[AD4]'],
    ['posts_per_month', 'extraPosts', 500, 900, '[AD5]'],
    ['brand_kits', 'extraBrandKits', 5, 900, '[AD6]'],
    ['webhooks', 'extraWebhooks', 10, 900, '[AD7]'],
    ['competitors', 'extraCompetitors', 10, 900, '[AD8]'],
    ['video_exports', 'extraVideoExports', 50, 1900, '[AD2]'],
  ] as const;
  test.each(PACKS)(
    'two packs of %s raise %s by 2 × %i for %i cents a month each [AD9, BI8, BI55, LM9, S60, S66] %s',
    async (type, column, size, cents, _ids) => {
      const { ann } = await subscribed();
      const { plan } = (await ann.client.get('/billing')).body.limits[type];
      const remote = await world.buyPacks(ann, type, 2);
      expect(remote.metadata).toMatchObject({ service: 'service', addon: type });
      expect(remote.items.data[0]).toMatchObject({
        quantity: 2,
        price: { unit_amount: cents, recurring: { interval: 'month' } },
      });
      expect(await extras(ann)).toEqual({ [column]: 2 });
      expect((await ann.client.get('/billing')).body.limits[type]).toMatchObject({
        plan,
        addons: 2 * size,
        effective: plan + 2 * size,
      });
      expect((await ann.client.get('/billing/addons')).body).toContainEqual({
        type,
        packs: 2,
        packSize: size,
        priceCents: cents,
      });
    },
  );

  test('packs of every dimension are offered [AD1, AD2, AD3, AD4, AD5, AD6, AD7, AD8]', async () => {
    const { ann } = await subscribed();
    const [offered, own] = [
      (await ann.client.get('/billing/packages')).body.addons,
      (await ann.client.get('/billing/addons')).body,
    ];
    for (const list of [offered, own]) {
      const shown = list.map((one: { type: string; packSize: number; priceCents: number }) => [
        one.type,
        one.packSize,
        one.priceCents,
      ]);
      expect(shown.toSorted()).toEqual(PACKS.map(([type, , size, cents]) => [type, size, cents]).toSorted());
    }
  });

  test('packs that were bought before are shown and can be cancelled', async () => {
    const { ann } = await subscribed();
    await world.buyPacks(ann, 'channel', 1);
    await world.sql`
      update payment_subscriptions set addon = 'brand_kits' where org_id = ${ann.orgId} and addon = 'channel'`;
    expect((await ann.client.get('/billing/addons')).body).toContainEqual({
      type: 'brand_kits',
      packs: 1,
      packSize: 5,
      priceCents: 900,
    });
    expect((await ann.client.delete('/billing/addons/brand_kits')).body).toEqual({ type: 'brand_kits', packs: 0 });
  });

  test('the requested number applies at once and follows every event; a decrease prunes; zero cancels at the end of the period [BI55, S66, S219]', async () => {
    const { ann } = await subscribed();
    const remote = await world.buyPacks(ann, 'channel', 1);
    expect((await ann.client.post('/billing/addons', { type: 'channel', packs: 3 })).body).toEqual({
      type: 'channel',
      packs: 3,
    });
    expect(await extras(ann)).toEqual({ extraChannels: 3 });
    expect(
      world.processor.asked.filter(({ call }) => call === 'POST /v1/subscriptions/:id').at(-1)!.fields,
    ).toMatchObject({
      proration_behavior: 'always_invoice',
    });
    world.processor.advance(60);
    remote.items.data[0]!.quantity = 2;
    world.processor.change(remote.id, {});
    await world.deliverAll();
    expect(await extras(ann)).toEqual({ extraChannels: 2 });

    expect((await ann.client.delete('/billing/addons/channel')).body).toEqual({ type: 'channel', packs: 0 });
    expect(await extras(ann)).toEqual({ extraChannels: 2 });
    expect(remote.cancel_at_period_end).toBe(true);
    await world.deliverAll();
    world.processor.renew(remote.id);
    await world.deliverAll();
    expect(await extras(ann)).toEqual({});
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    expect((await ann.client.delete('/billing/addons/channel')).status).toBe(404);
    expect((await ann.client.delete('/billing/addons/cake')).status).toBe(404);
  });

  test('packs survive a downgrade, and pruning counts plan and packs together [AD11]', async () => {
    const { ann, remote } = await subscribed('TEAM');
    await world.buyPacks(ann, 'channel', 1);
    await world.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, created_at)
      select gen_random_uuid(), ${ann.orgId}, 'sandbox', 'v1', n::text, n::text, '', now() + n * interval '1 second'
      from generate_series(1, 12) n`;
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'STARTER' });
    world.processor.renew(remote.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'STARTER', extraChannels: 1 });
    expect(await world.sql`select 1 from channels where org_id = ${ann.orgId} and not disabled`).toHaveLength(8);
  });

  test('a changed price applies to new purchases only; earlier buyers keep theirs at any quantity [AD10, BI55]', async () => {
    const { ann } = await subscribed();
    const before = await world.buyPacks(ann, 'webhooks', 1);
    const env = { ...WITH_BILLING, ADDON_WEBHOOKS_PRICE_CENTS: '1100', ADDON_WEBHOOKS_PER_PACK: '12' };
    // the same deployment, started again
    await using dearer = await testApp({ sql: world.sql, env, paymentsServer: world.processor.url });
    const at = ({ client }: SignedUp) => Object.assign(new Client(dearer.address), { cookies: client.cookies });
    const { ann: bob } = await subscribed();
    const ordered = await at(bob).post('/billing/addons', { type: 'webhooks', packs: 1 });
    const after = world.processor.pay(ordered.body.url.split('/').at(-1));
    await world.deliverAll();
    expect([before, after].map(({ items }) => items.data[0]!.price)).toMatchObject([
      { unit_amount: 900 },
      { unit_amount: 1_100 },
    ]);
    expect(before.items.data[0]!.price.lookup_key).not.toBe(after.items.data[0]!.price.lookup_key);
    expect((await at(bob).get('/billing/packages')).body.addons).toContainEqual({
      type: 'webhooks',
      packSize: 12,
      priceCents: 1_100,
    });
    expect((await at(bob).get('/billing')).body.limits.webhooks).toMatchObject({ addons: 12 });

    expect((await at(ann).post('/billing/addons', { type: 'webhooks', packs: 3 })).body).toEqual({
      type: 'webhooks',
      packs: 3,
    });
    await world.deliverAll();
    expect(before.items.data[0]).toMatchObject({ quantity: 3, price: { unit_amount: 900 } });
    expect(await extras(ann)).toEqual({ extraWebhooks: 3 });
  });

  test('packs add to a plan; a number outside 1 to 100, an unknown type and an unknown field are 400', async () => {
    const ann = await world.signUp();
    expect((await ann.client.post('/billing/addons', { type: 'channel', packs: 1 })).status).toBe(409);
    for (const [body, field] of [
      [{ type: 'channel', packs: 0 }, 'packs'],
      [{ type: 'channel', packs: 101 }, 'packs'],
      [{ type: 'channel', packs: 1.5 }, 'packs'],
      [{ type: 'cake', packs: 1 }, 'type'],
      [{ type: 'channel', packs: 1, free: true }, 'free'],
    ] as const)
      expect(await ann.client.post('/billing/addons', body)).toMatchObject({
        status: 400,
        body: { errors: [{ field }] },
      });
  });

  test('packs bought on two pages at once are both counted; setting a number leaves one item', async () => {
    const { ann } = await subscribed();
    await ann.client.post('/billing/addons', { type: 'channel', packs: 1 });
    const first = [...world.processor.sessions.values()].at(-1)!;
    await ann.client.post('/billing/addons', { type: 'channel', packs: 2 });
    const second = [...world.processor.sessions.values()].at(-1)!;
    first.status = 'open'; // paid in the very moment in which it was closed
    const [one, two] = [world.processor.pay(first.id), world.processor.pay(second.id)];
    await world.deliverAll();
    expect(await extras(ann)).toEqual({ extraChannels: 3 });
    await ann.client.post('/billing/addons', { type: 'channel', packs: 4 });
    expect([one, two].map(({ cancel_at_period_end: ends }) => ends).toSorted()).toEqual([false, true]);
  });
});

describe('packs with a lifetime plan', () => {
  test('a lifetime org cannot buy packs: 402 [AD12, S66]', async () => {
    const { ann } = await subscribed();
    await world.sql`update subscriptions set is_lifetime = true, processor_id = null where org_id = ${ann.orgId}`;
    expect(await ann.client.post('/billing/addons', { type: 'channel', packs: 1 })).toMatchObject({
      status: 402,
      body: { code: 'lifetime_no_addons', url: `${world.app.context.config.http.frontendUrl}/billing` },
    });
  });
});
