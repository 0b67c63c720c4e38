import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type SignedUp, testApp } from '../../support/worlds/app.ts';
import { subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import type { Env } from '../../support/worlds/settings/settings-world.ts';

// Settings given to the product as a user runs it, and seen from outside: payments and packs.

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const effect = effectsOf('payments');

describe('payments', () => {
  let world: PayingApp;
  const PACKS = [
    ['storage_gb', 'extra_storage', 'ADDON_STORAGE_GB_PER_PACK', 'ADDON_STORAGE_PRICE_CENTS', 101, '[AD1]'],
    ['channel', 'extra_channels', 'ADDON_CHANNELS_PER_PACK', 'ADDON_CHANNELS_PRICE_CENTS', 103, '[AD3]'],
    ['team_members', 'extra_team_seats', 'ADDON_TEAM_SEATS_PER_PACK', 'ADDON_TEAM_SEATS_PRICE_CENTS', 104, '[AD4]'],
    ['posts_per_month', 'extra_posts', 'ADDON_POSTS_PER_PACK', 'ADDON_POSTS_PRICE_CENTS', 105, '[AD5]'],
    ['brand_kits', 'extra_brand_kits', 'ADDON_BRAND_KITS_PER_PACK', 'ADDON_BRAND_KITS_PRICE_CENTS', 106, '[AD6]'],
    ['competitors', 'extra_competitors', 'ADDON_COMPETITORS_PER_PACK', 'ADDON_COMPETITORS_PRICE_CENTS', 109, '[AD8]'],
    ['webhooks', 'extra_webhooks', 'ADDON_WEBHOOKS_PER_PACK', 'ADDON_WEBHOOKS_PRICE_CENTS', 107, '[AD7]'],
    [
      'video_exports',
      'extra_video_exports',
      'ADDON_VIDEO_EXPORTS_PER_PACK',
      'ADDON_VIDEO_EXPORTS_PRICE_CENTS',
      108,
      '[AD2]',
    ],
  ] as const;
  beforeAll(async () => {
    const packs = PACKS.flatMap(([, , size, price, n]) => [
      [size, String(n)],
      [price, String(10 * n)],
    ]);
    world = stack.use(
      await payingApp({
        env: {
          ...Object.fromEntries(packs),
          PAYMENTS_DISCOUNT_ID: 'the-coupon',
          PAYMENTS_SERVICE_NAME: 'acme',
          BILLING_FEEDBACK_EMAIL: 'money@example.com',
          EMAIL_PROVIDER: 'smtp',
          EMAIL_SMTP_HOST: '127.0.0.1',
          EMAIL_FROM_ADDRESS: 'no-reply@example.com',
        },
      }),
    );
  });
  /** Somebody who has had a trial, and pays by the month. */
  async function paying(): Promise<SignedUp> {
    const bob = await world.signUp();
    await world.sql`update organizations set allow_trial = false where id = ${bob.orgId}`;
    await world.buy(bob);
    return bob;
  }

  effect(
    ['PAYMENTS_PUBLISHABLE_KEY', 'PAYMENTS_SECRET_KEY', 'PAYMENTS_SIGNING_KEY'],
    'billing is on; calls and events are proven by the keys',
    async () => {
      const sold = async (env: Env) => {
        await using app = await testApp({ sql: world.sql, env, paymentsServer: world.processor.url });
        const bob = await app.signUp();
        return (await bob.client.post('/billing/subscribe', { billing: 'PRO', period: 'MONTHLY' })).status;
      };
      expect(await sold(WITH_BILLING)).toBe(200);
      expect(await sold({ ...WITH_BILLING, PAYMENTS_SECRET_KEY: 'sk_of_another' })).not.toBe(200);
      expect(await sold({})).not.toBe(200);
      await paying();
      const event = world.processor.told[0]!;
      expect((await world.processor.deliver(world.app.address, event)).status).toBe(200);
      await using deaf = await testApp({
        sql: world.sql,
        env: { ...WITH_BILLING, PAYMENTS_SIGNING_KEY: 'whsec_of_another' },
        paymentsServer: world.processor.url,
      });
      expect((await world.processor.deliver(deaf.address, event)).status).toBe(400);
    },
  );
  effect(
    ['PAYMENTS_DISCOUNT_ID', 'PAYMENTS_SERVICE_NAME', 'BILLING_FEEDBACK_EMAIL'],
    'the coupon that is offered, the name at the processor, and who hears why somebody leaves',
    async () => {
      const bob = await paying();
      expect(world.processor.asked.findLast(({ call }) => call === 'POST /v1/customers')!.fields).toMatchObject({
        metadata: { service: 'acme' },
      });
      const { offerCoupon: token } = (await bob.client.get('/billing/check-discount')).body;
      await bob.client.post('/billing/apply-discount', { token });
      expect(
        world.processor.asked.findLast(({ call }) => call === 'POST /v1/subscriptions/:id')!.fields['discounts'],
      ).toEqual({ 0: { coupon: 'the-coupon' } });
      await bob.client.post('/billing/cancel', { feedback: 'Too dear' });
      expect(
        (await world.sql`select to_address from emails where template = 'subscription-cancelled'`).map(
          ({ to_address }) => to_address,
        ),
      ).toEqual(['money@example.com']);
    },
  );
  for (const [type, column, size, price, n, id] of PACKS)
    effect([size, price], `a pack has that size and costs that much ${id}`, async () => {
      const bob = await world.signUp();
      await subscribe(world.sql, bob.orgId, { tier: 'PRO', packs: { [column]: 2 } });
      expect((await bob.client.get('/billing')).body.limits[type]).toMatchObject({ addons: 2 * n });
      expect((await bob.client.get('/billing/packages')).body.addons).toContainEqual({
        type,
        packSize: n,
        priceCents: 10 * n,
      });
    });
});
