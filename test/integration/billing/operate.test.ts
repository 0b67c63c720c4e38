import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { Client, JWT_SECRET, type SignedUp, testApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

let world: PayingApp;
let boss: SignedUp;
beforeAll(async () => {
  world = await payingApp({ env: { PAYMENTS_DISCOUNT_ID: 'coupon_1' } });
  boss = await world.signUp(); // the first user of an instance is its super-admin
});
afterAll(() => world[Symbol.asyncDispose]());

async function paying(billing = 'PRO', period = 'MONTHLY') {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  return { ann, remote: await world.buy(ann, billing, period) };
}
const key = new TextEncoder().encode(JWT_SECRET);
const code = (claims: Record<string, unknown>, secret = key) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(secret);
const mint = async (count = 1): Promise<string[]> =>
  (await boss.client.post('/admin/lifetime-codes', { count })).body.codes;

describe('the price list', () => {
  test('has the plans with their prices and limits, and the packs [BI1, S63]', async () => {
    const { body } = await boss.client.get('/billing/packages');
    expect(body.enabled).toBe(true);
    expect(body.packages).toEqual([
      { tier: 'STARTER', monthPrice: 9, yearPrice: 90, channel: 3, posts_per_month: 100, team_members: 1, brand_kits: 0, campaigns: false, api: false, mcp: false, webhooks: 1, competitors: 1, analyticsRetentionDays: 180, video_exports: 15, storage_gb: 1 },
      { tier: 'PRO', monthPrice: 29, yearPrice: 290, channel: 10, posts_per_month: 1_000_000, team_members: 3, brand_kits: 2, campaigns: true, api: true, mcp: true, webhooks: 5, competitors: 5, analyticsRetentionDays: 548, video_exports: 60, storage_gb: 5 },
      { tier: 'TEAM', monthPrice: 99, yearPrice: 990, channel: 30, posts_per_month: 1_000_000, team_members: 10, brand_kits: 10, campaigns: true, api: true, mcp: true, webhooks: 20, competitors: 20, analyticsRetentionDays: 548, video_exports: 200, storage_gb: 20 },
      { tier: 'AGENCY', monthPrice: 249, yearPrice: 2_490, channel: 100, posts_per_month: 1_000_000, team_members: 25, brand_kits: 1_000_000, campaigns: true, api: true, mcp: true, webhooks: 1_000_000, competitors: 50, analyticsRetentionDays: 548, video_exports: 600, storage_gb: 100 },
    ]); // prettier-ignore
    expect(body.addons.map(({ type }: { type: string }) => type)).toEqual([
      'channel',
      'team_members',
      'posts_per_month',
      'webhooks',
      'storage_gb',
    ]);
    expect(body.addons).toContainEqual({ type: 'storage_gb', packSize: 25, priceCents: 1_900 });
  });
});

describe('charges of an organization', () => {
  test('lists succeeded charges with links to receipt and PDF, newest first, without card checks [BI31, S67]', async () => {
    const { ann } = await paying('PRO');
    world.processor.advance(5);
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' });
    const held = world.processor.charges[0]!;
    world.processor.charges.push({ ...held, id: 'ch_held', captured: false, refunded: true });
    const { body } = await ann.client.get('/billing/charges');
    expect(body).toEqual([
      expect.objectContaining({ amount: 7_000 }),
      {
        id: expect.stringMatching(/^ch_/),
        amount: 2_900,
        currency: 'usd',
        created: expect.any(Number),
        status: 'succeeded',
        refunded: false,
        amount_refunded: 0,
        description: 'Subscription update',
        receipt_url: 'https://pay.example.com/receipt',
        invoice: expect.stringMatching(/^in_/),
        invoice_pdf: 'https://pay.example.com/invoice.pdf',
      },
    ]);
    expect((await boss.client.get('/billing/charges')).body).toEqual([]);
  });

  test('refunds own charges of the last 14 days once; older ones for a super-admin only; those of others are unknown [BI32, S68]', async () => {
    const [{ ann }, { ann: eve }] = [await paying(), await paying()];
    const [fresh] = (await ann.client.get('/billing/charges')).body;
    const [foreign] = (await eve.client.get('/billing/charges')).body;
    const old = {
      ...world.processor.charges.find(({ id }) => id === fresh.id)!,
      id: 'ch_old',
      created: Math.floor(new Date().getTime() / 1000) - 15 * 86_400,
    };
    world.processor.charges.push(old);
    const answer = await ann.client.post('/billing/refund-charges', {
      chargeIds: [fresh.id, fresh.id, foreign.id, 'ch_none', 'ch_old'],
    });
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        refunded: [fresh.id],
        failed: [
          { id: foreign.id, reason: 'There is no such charge' },
          { id: 'ch_none', reason: 'There is no such charge' },
          { id: 'ch_old', reason: expect.stringContaining('14 days') },
        ],
      },
    });
    expect(
      (await ann.client.get('/billing/charges')).body.find(({ id }: { id: string }) => id === fresh.id),
    ).toMatchObject({
      refunded: true,
      amount_refunded: 2_900,
    });
    expect((await eve.client.get('/billing/charges')).body[0]).toMatchObject({ refunded: false });
    expect(await world.audits(ann.orgId)).toContain('billing.charge_refunded');
    expect((await ann.client.post('/billing/refund-charges', { chargeIds: [fresh.id] })).body.refunded).toEqual([
      fresh.id,
    ]); // the same answer: the money went once
    expect(world.processor.charges.find(({ id }) => id === fresh.id)!.amount_refunded).toBe(2_900);

    expect(await world.subscription(ann)).toBeNull(); // nobody keeps the plan that they take the money back for
    expect(await world.subscription(eve)).toMatchObject({ subscriptionTier: 'PRO' });

    await world.sql`update users set is_super_admin = true where id = ${ann.userId}`;
    expect((await ann.client.post('/billing/refund-charges', { chargeIds: ['ch_old'] })).body).toEqual({
      refunded: ['ch_old'],
      failed: [],
    });
    for (const chargeIds of [[], Array.from({ length: 51 }, (_, n) => `ch_${n}`), ['']])
      expect((await ann.client.post('/billing/refund-charges', { chargeIds })).status).toBe(400);
  });
});

describe('credit for packs at the end of their plan', () => {
  /** A plan with a pack of channels, and the charges of both. */
  async function withPacks() {
    const { ann, remote: plan } = await paying();
    const packs = await world.buyPacks(ann, 'channel', 1);
    const charges = (await ann.client.get('/billing/charges')).body as { id: string; amount: number }[];
    const chargeOf = (cents: number) => charges.find(({ amount }) => amount === cents)!.id;
    const back = () => ({
      refunded: world.processor.charges
        .filter(({ customer }) => customer === plan.customer)
        .reduce((sum, { amount_refunded: cents }) => sum + cents, 0),
      credited: world.processor.balances.get(plan.customer) ?? 0,
    });
    const refund = async (...chargeIds: string[]) =>
      (await ann.client.post('/billing/refund-charges', { chargeIds })).body;
    const again = async () => {
      await world.sql`update payment_tasks set due_at = now() where org_id = ${ann.orgId}`;
      await world.deliverAll();
    };
    return { ann, plan, packs, ofPlan: chargeOf(2_900), ofPacks: chargeOf(1_900), back, refund, again };
  }
  const operator = async ({ userId }: { userId: string }, is: boolean) =>
    world.sql`update users set is_super_admin = ${is} where id = ${userId}`;
  const CREDITED: unknown = expect.stringContaining('credited');

  test('credits unused packs with a refund of the plan charge alone', async () => {
    const { packs, ofPlan, back, refund, again } = await withPacks();
    expect(await refund(ofPlan)).toEqual({ refunded: [ofPlan], failed: [] });
    await again();
    expect(packs.status).toBe('canceled');
    expect(back()).toEqual({ refunded: 2_900, credited: 1_900 });
  });

  test('credits no unused packs when both charges are refunded', async () => {
    const { packs, ofPlan, ofPacks, back, refund, again } = await withPacks();
    expect(await refund(ofPlan, ofPacks)).toEqual({ refunded: [ofPlan, ofPacks], failed: [] });
    await again();
    expect(packs.status).toBe('canceled');
    expect(back()).toEqual({ refunded: 4_800, credited: 0 });
  });

  test('credits unused packs although a charge of an earlier period was refunded', async () => {
    const { ann, plan, packs, ofPlan, ofPacks, back, refund, again } = await withPacks();
    world.processor.renew(plan.id);
    world.processor.renew(packs.id);
    await world.deliverAll();
    await operator(ann, true); // for the age of the charges by the clock of the processor
    expect(await refund(ofPlan, ofPacks)).toEqual({ refunded: [ofPlan, ofPacks], failed: [] });
    await operator(ann, false);
    expect((await ann.client.post('/billing/cancel-subscription')).status).toBe(200);
    await again();
    expect(back()).toEqual({ refunded: 4_800, credited: 1_900 });
  });

  test('refuses to refund a charge after its packs are credited, and changes nothing else', async () => {
    const { ann, ofPacks, back, refund, again } = await withPacks();
    expect((await ann.client.post('/billing/cancel-subscription')).status).toBe(200);
    await again();
    await world.buy(ann, 'PRO');
    expect(await refund(ofPacks)).toEqual({ refunded: [], failed: [{ id: ofPacks, reason: CREDITED }] });
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    await operator(ann, true);
    expect(await refund(ofPacks)).toEqual({ refunded: [], failed: [{ id: ofPacks, reason: CREDITED }] });
    await operator(ann, false);
    expect(back()).toEqual({ refunded: 0, credited: 1_900 });
  });

  test('refuses to refund a charge while the credit is pending at the processor', async () => {
    const { ann, plan, packs, ofPacks, back, refund, again } = await withPacks();
    world.processor.end(plan.id);
    for (let n = 0; n < 3; n++) world.processor.fail('DELETE /v1/subscriptions/:id');
    await world.deliverAll();
    expect(packs.status).toBe('active');
    expect(await refund(ofPacks)).toEqual({ refunded: [], failed: [{ id: ofPacks, reason: CREDITED }] });
    await again();
    expect(packs.status).toBe('canceled');
    expect(await refund(ofPacks)).toEqual({ refunded: [], failed: [{ id: ofPacks, reason: CREDITED }] });
    expect(back()).toEqual({ refunded: 0, credited: 1_900 });
    expect(await world.subscription(ann)).toBeNull();
  });

  test('refuses a refund when a credit arrives between check and order, and changes nothing else', async () => {
    const { ann, ofPacks, back, refund, again } = await withPacks();
    world.processor.meanwhile('GET /v1/subscriptions/:id', async () => {
      expect((await ann.client.post('/billing/cancel-subscription')).status).toBe(200);
      await again();
    });
    expect(await refund(ofPacks)).toEqual({
      refunded: [],
      failed: [{ id: ofPacks, reason: expect.stringContaining('ask again') }],
    });
    expect(await refund(ofPacks)).toEqual({ refunded: [], failed: [{ id: ofPacks, reason: CREDITED }] });
    expect(back()).toEqual({ refunded: 0, credited: 1_900 });
  });

  test('credits no unused packs while their charge is being refunded or after it was', async () => {
    for (const away of [true, false]) {
      const { ann, ofPacks, back, refund, again } = await withPacks();
      await operator(ann, true); // who leaves the plan as it is
      if (away) for (let n = 0; n < 3; n++) world.processor.fail('POST /v1/refunds');
      expect((await refund(ofPacks)).refunded).toEqual(away ? undefined : [ofPacks]);
      await operator(ann, false);
      expect((await ann.client.post('/billing/cancel-subscription')).status).toBe(200);
      await again();
      expect(back()).toEqual({ refunded: 1_900, credited: 0 });
    }
  });
});

describe('a second refund', () => {
  test('within a year is refused and ends nothing; after it, or by a super-admin, it succeeds', async () => {
    const { ann } = await paying();
    const charge = async () =>
      (await ann.client.get('/billing/charges')).body.find(({ refunded }: { refunded: boolean }) => !refunded)
        ?.id as string;
    const refund = async () => (await ann.client.post('/billing/refund-charges', { chargeIds: [await charge()] })).body;
    expect((await refund()).failed).toEqual([]);
    await world.deliverAll();
    await world.buy(ann, 'PRO');
    const refused = async () => {
      expect((await refund()).failed).toEqual([
        { id: await charge(), reason: expect.stringContaining('within a year') },
      ]);
      expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    };
    await refused(); // on the same day
    await world.sql`update organizations set self_refund_at = now() - interval '364 days' where id = ${ann.orgId}`;
    await refused();
    await world.sql`update organizations set self_refund_at = now() - interval '366 days' where id = ${ann.orgId}`;
    expect((await refund()).failed).toEqual([]);
    expect(await world.subscription(ann)).toBeNull();
  });

  test('returns nothing when it arrives at the same time', async () => {
    const { ann } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const first = world.processor.charges.find((one) => one.id === id)!;
    const ids = [id, ...Array.from({ length: 3 }, (_, n) => `${id}x${n}`)];
    for (const other of ids.slice(1)) world.processor.charges.push({ ...first, id: other });
    const answers = await Promise.all(
      ids.map((one) => ann.client.post('/billing/refund-charges', { chargeIds: [one] })),
    );
    const refunded = answers.flatMap(({ body }) => body.refunded as string[]);
    expect(refunded).toHaveLength(1);
    expect(world.processor.charges.filter((one) => ids.includes(one.id) && one.refunded).map((one) => one.id)).toEqual(
      refunded,
    );
    expect(await world.subscription(ann)).toBeNull();
  });
});

describe('a lifetime plan', () => {
  test('is granted by a code: AGENCY for life, recorded in plain text [BI10, BI38, S73, S213]', async () => {
    const ann = await world.signUp();
    const [one] = await mint();
    expect(await ann.client.post('/billing/lifetime', { code: one })).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect(await world.subscription(ann)).toMatchObject({
      subscriptionTier: 'AGENCY',
      isLifetime: true,
      isTrial: false,
      totalChannels: 100,
      pendingTier: null,
    });
    expect(await world.sql`select code from lifetime_codes where org_id = ${ann.orgId}`).toEqual([{ code: one }]);
    expect((await ann.client.get('/user/self')).body.allowTrial).toBe(false);
    expect((await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' })).status).toBe(409);
    expect(await world.audits(ann.orgId)).toEqual(['billing.lifetime_redeemed']);
  });

  test('ends the monthly plan at the processor and keeps packs', async () => {
    const { ann, remote } = await paying('PRO');
    const packs = await world.buyPacks(ann, 'channel', 2);
    const [one] = await mint();
    expect((await ann.client.post('/billing/lifetime', { code: one })).status).toBe(200);
    await world.settled();
    await world.deliverAll();
    expect({ plan: remote.status, packs: packs.status }).toEqual({ plan: 'canceled', packs: 'active' });
    expect(await world.subscription(ann)).toMatchObject({
      subscriptionTier: 'AGENCY',
      isLifetime: true,
      extraChannels: 2,
    });
  });

  test('refuses a used, own, forged or wrong code with 400 and `success: false`, and nothing changes [BI10, BI29, BI30, S73]', async () => {
    const [ann, bob] = [await world.signUp(), await world.signUp()];
    const [used, unused] = await mint(2);
    await ann.client.post('/billing/lifetime', { code: used });
    const refused = { status: 400, body: { statusCode: 400, success: false } };
    expect(await ann.client.post('/billing/lifetime', { code: unused })).toMatchObject(refused);
    expect(await world.sql`select 1 from lifetime_codes where code = ${unused!}`).toHaveLength(0);
    const jti = 'a-code';
    const now = Math.floor(new Date().getTime() / 1000);
    for (const bad of [
      used,
      '',
      'x',
      'a.b.c',
      await code({ jti, aud: 'lifetime' }, new TextEncoder().encode('another secret that is long enough')),
      await code({ jti, aud: 'session', iat: now, exp: now + 60 }),
      await code({ jti, iat: now, exp: now + 60 }),
      await code({ aud: 'lifetime' }),
      await code({ jti: '', aud: 'lifetime' }),
      await code({ jti: 7, aud: 'lifetime' }),
      await code({ jti, aud: 'lifetime', exp: now - 1 }),
      await code({ jti, aud: 'lifetime', nbf: now + 3_600 }),
      `${unused!.slice(0, -2)}${unused!.endsWith('AA') ? 'BB' : 'AA'}`,
      unused!.replace(/^[^.]+/, Buffer.from('{"alg":"none"}').toString('base64url')),
    ])
      expect(await bob.client.post('/billing/lifetime', { code: bad })).toMatchObject(refused);
    expect(await world.subscription(bob)).toBeNull();
    expect((await bob.client.get('/user/self')).body.allowTrial).toBe(true);
    expect((await bob.client.post('/billing/lifetime', { code: await code({ jti, aud: 'lifetime' }) })).status).toBe(
      200,
    );
  });

  test('is granted to exactly one of a hundred orgs that use one code at once [X25]', async () => {
    const orgs = await Promise.all(Array.from({ length: 100 }, () => world.bareOrg()));
    const [one] = await mint();
    const results = await Promise.allSettled(
      orgs.map((orgId) =>
        world.app.context.payments.redeem(orgId, { userId: null, impersonatorId: null, ip: null }, one!),
      ),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(
      await world.sql`select 1 from subscriptions where is_lifetime and org_id = any(${orgs}::uuid[])`,
    ).toHaveLength(1);
  });

  test('has distinct codes created by super-admins, at most 100 at a time [S213]', async () => {
    const codes = await mint(100);
    expect(new Set(codes).size).toBe(100);
    expect((await boss.client.post('/admin/lifetime-codes', { count: 101 })).status).toBe(400);
    expect(await (await world.signUp()).client.post('/admin/lifetime-codes', { count: 1 })).toMatchObject({
      status: 403,
      body: { code: 'super_admin_required' },
    });
    expect(
      (
        await world.sql`select detail from audit_log where action = 'lifetime_codes.created' order by id desc limit 1`
      )[0]!['detail'],
    ).toEqual({
      count: 100,
    });
  });
});

describe('the discount coupon', () => {
  const offer = async (ann: SignedUp) => (await ann.client.get('/billing/check-discount')).body.offerCoupon;

  test('is for existing monthly customers without a discount and for nobody else [DE7, S74]', async () => {
    const { ann, remote } = await paying();
    const token = await offer(ann);
    expect(token).toEqual(expect.any(String));
    const { ann: eve } = await paying();
    for (const bad of ['x', token.slice(0, -2)])
      expect(await ann.client.post('/billing/apply-discount', { token: bad })).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'token' }] },
      });
    expect((await eve.client.post('/billing/apply-discount', { token })).status).toBe(400);
    expect((await ann.client.post('/billing/apply-discount', { token })).body).toEqual({ success: true });
    expect(
      world.processor.asked.findLast(({ call }) => call === 'POST /v1/subscriptions/:id')!.fields['discounts'],
    ).toEqual({ 0: { coupon: 'coupon_1' } });
    expect(remote.discounts).toHaveLength(1);
    expect(await offer(ann)).toBe(false);
    expect((await ann.client.post('/billing/apply-discount', { token })).body).toEqual({ success: false });
    const { ann: byYear } = await paying('PRO', 'YEARLY');
    const nobody = await world.signUp();
    const trying = await world.signUp();
    await world.buy(trying);
    expect(await world.subscription(trying)).toMatchObject({ isTrial: true });
    const { ann: leaving } = await paying();
    expect((await leaving.client.post('/billing/cancel', { feedback: '' })).status).toBe(200);
    for (const [kind, other] of Object.entries({ byYear, nobody, trying, leaving }))
      expect([kind, await offer(other)]).toEqual([kind, false]);
  });

  test('is refused for yearly plans, in a trial, without a plan and when cancelled', async () => {
    expect(await offer((await paying('PRO', 'YEARLY')).ann)).toBe(false);
    const ann = await world.signUp();
    expect(await offer(ann)).toBe(false);
    await world.buy(ann);
    expect(await offer(ann)).toBe(false);
    const { ann: bob } = await paying();
    await bob.client.post('/billing/cancel', { feedback: '' });
    expect(await offer(bob)).toBe(false);
  });

  test('is not offered without the setting [DE7]', async () => {
    await using other = await payingApp();
    const ann = await other.signUp();
    await other.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
    await other.buy(ann);
    expect(await offer(ann)).toBe(false);
  });
});

describe('limit overrides', () => {
  const path = (orgId: string) => `/admin/orgs/${orgId}/limit-overrides`;
  const patch = (orgId: string, overrides: unknown, client: Client = boss.client) =>
    client.send('PATCH', path(orgId), { overrides });

  test('set by a number, clear by null and stay when absent; the answer has the effective values [BI40, BI42, BI43, BI44, LM10, S76]', async () => {
    const { ann } = await paying('PRO');
    const first = await patch(ann.orgId, { channel: 50, webhooks: 0 });
    expect(first).toMatchObject({
      status: 200,
      body: {
        orgId: ann.orgId,
        overrides: { channel: 50, webhooks: 0 },
        effective: { channel: 50, webhooks: 0, competitors: 5 },
      },
    });
    expect(Object.keys(first.body).toSorted()).toEqual(['effective', 'orgId', 'overrides']);
    expect((await patch(ann.orgId, { channel: null })).body).toMatchObject({
      overrides: { webhooks: 0 },
      effective: { channel: 10, webhooks: 0 },
    });
    expect((await patch(ann.orgId, {})).body.overrides).toEqual({ webhooks: 0 });
    expect(await world.subscription(ann)).toMatchObject({ limitOverrides: { webhooks: 0 } });
    expect(await world.audits(ann.orgId)).toContain('billing.limits_overridden');
  });

  test('accept the eight keys only; one invalid value applies nothing [BI41, BI45, S76]', async () => {
    const { ann } = await paying('PRO');
    const all = {
      channel: 1,
      team_members: 2,
      posts_per_month: 3,
      brand_kits: 4,
      webhooks: 5,
      competitors: 6,
      storage_gb: 7,
      video_exports: 8,
    };
    expect((await patch(ann.orgId, all)).body).toMatchObject({ overrides: all, effective: all });
    for (const bad of [
      { analytics_retention_days: 1 },
      { channels: 1 },
      { channel: -1 },
      { channel: 1.5 },
      { channel: '5' },
      { channel: true },
      { __proto__: 1, x: 1 },
      [],
      7,
      null,
    ])
      expect((await patch(ann.orgId, bad)).status).toBe(400);
    expect((await patch(ann.orgId, { channel: 99, analytics_retention_days: 1 })).status).toBe(400);
    expect((await patch(ann.orgId, {})).body.overrides).toEqual(all);
  });

  test('admit super-admins by the header `auth` or by cookie; an API key, the token of an owner and no token are refused [BI46, S210, S76]', async () => {
    const { ann } = await paying('PRO');
    const header = new Client(world.app.address);
    header.headers = { auth: boss.client.cookies.get('auth')! };
    expect((await patch(ann.orgId, { channel: 5 }, header)).status).toBe(200);
    const owner = new Client(world.app.address);
    owner.headers = { auth: ann.client.cookies.get('auth')! };
    expect(await patch(ann.orgId, { channel: 5 }, owner)).toMatchObject({
      status: 403,
      body: { code: 'super_admin_required' },
    });
    expect((await patch(ann.orgId, { channel: 5 }, await ann.withKey())).status).toBe(401);
    expect((await patch(ann.orgId, { channel: 5 }, new Client(world.app.address))).status).toBe(401);
    expect((await patch('00000000-0000-7000-8000-000000000000', { channel: 5 })).status).toBe(404);
  });
});

describe('the billing month', () => {
  test('is anchored at `createdAt` of the subscription, not at the start of a calendar month [BI6]', async () => {
    const { ann } = await paying('STARTER');
    await world.sql`update subscriptions set created_at = now() - interval '70 days' where org_id = ${ann.orgId}`;
    const [channel] = await world.sql<{ id: string }[]>`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (gen_random_uuid(), ${ann.orgId}, 'sandbox', 'v1', 'a', 'A', '')
      returning id`;
    for (const days of [40, 20, 5, 1])
      await world.sql`
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, created_at)
        values (gen_random_uuid(), ${ann.orgId}, ${channel!.id}, 'g', 'DRAFT', 'hello', now(),
          now() - ${days}::float8 * interval '1 day')`;
    // 70 days ago: it began anew some 9 days ago
    expect((await ann.client.get('/billing')).body.limits.posts_per_month).toMatchObject({ effective: 100, used: 2 });
    await world.sql`update subscriptions set created_at = now() - interval '2 days' where org_id = ${ann.orgId}`;
    expect((await ann.client.get('/billing')).body.limits.posts_per_month.used).toBe(1);
  });
});

describe('billing permissions', () => {
  const MANAGED: [string, string, unknown][] = [
    ['POST', '/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' }],
    ['POST', '/billing/prorate', { period: 'MONTHLY', billing: 'PRO' }],
    ['GET', '/billing/check/x', undefined],
    ['POST', '/billing/addons', { type: 'channel', packs: 1 }],
    ['DELETE', '/billing/addons/channel', undefined],
    ['GET', '/billing/charges', undefined],
    ['POST', '/billing/refund-charges', { chargeIds: ['x'] }],
    ['POST', '/billing/cancel', { feedback: '' }],
    ['POST', '/billing/cancel-subscription', undefined],
    ['POST', '/billing/lifetime', { code: 'x' }],
    ['GET', '/billing/check-discount', undefined],
    ['POST', '/billing/apply-discount', { token: 'x' }],
  ];
  test.each(MANAGED)(
    '%s %s needs billing:manage: an admin is refused [BI31, BI32, BI33, BI35]',
    async (method, path, body) => {
      const ann = await world.signUp();
      await world.sql`update memberships set role_key = 'admin' where org_id = ${ann.orgId}`;
      expect(await ann.client.send(method, path, body)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    },
  );

  test('usage needs billing:read, which an editor lacks; the plans are for every member [S62, S63]', async () => {
    const ann = await world.signUp();
    await world.sql`update memberships set role_key = 'admin' where org_id = ${ann.orgId}`;
    for (const path of [
      '/billing',
      '/billing/subscription',
      '/billing/addons',
      '/billing/packages',
      '/billing/is-trial-finished',
    ])
      expect((await ann.client.get(path)).status).toBe(200);
    await world.sql`update memberships set role_key = 'editor' where org_id = ${ann.orgId}`;
    for (const path of ['/billing', '/billing/subscription', '/billing/addons'])
      expect((await ann.client.get(path)).status).toBe(403);
    expect((await ann.client.get('/billing/packages')).status).toBe(200);
  });

  test('an impersonating super-admin moves no money [S212]', async () => {
    const { ann } = await paying();
    expect((await boss.client.post('/admin/impersonate', { userId: ann.userId, reason: 'help' })).status).toBe(200);
    try {
      const refused = [
        ...MANAGED.filter(([, path]) => path !== '/billing/charges'),
        ['GET', '/billing/portal', undefined],
        ['POST', '/billing/finish-trial', undefined],
      ] as const;
      for (const [method, path, body] of refused)
        expect(await boss.client.send(method, path, body)).toMatchObject({
          status: 403,
          body: { message: 'This is refused while you impersonate a user: stop impersonating first' },
        });
      expect((await boss.client.get('/billing/subscription')).body).toMatchObject({ organizationId: ann.orgId });
    } finally {
      await boss.client.delete('/admin/impersonate');
    }
  });
});

describe('a plan given by an operator', () => {
  const by = { userId: null, impersonatorId: null, ip: null };
  const grant = (orgId: string, tier: 'STARTER' | 'PRO' | 'TEAM' | 'AGENCY') =>
    world.sql.begin((tx) => world.app.context.payments.grant(tx, orgId, by, tier));

  test('holds without a payment and is replaced by a paid one; an org that pays keeps its own', async () => {
    const ann = await world.signUp();
    await grant(ann.orgId, 'TEAM');
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', isLifetime: false });
    expect((await ann.client.post('/billing/cancel-subscription')).status).toBe(409);
    const { id } = await world.subscription(ann);
    await world.buy(ann, 'PRO');
    expect(await world.subscription(ann)).toMatchObject({ id, subscriptionTier: 'PRO' });
    await expect(grant(ann.orgId, 'AGENCY')).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('billing off', () => {
  test('lists no packages, checkout or charges; valid changes answer 400; every organization is on AGENCY [BI2, BI3, BI4, S75, S216, S242]', async () => {
    await using db = await testDatabase();
    await using app = await testApp({ sql: db.sql });
    const ann = await app.signUp();
    expect((await ann.client.get('/billing/packages')).body).toEqual({ enabled: false, packages: [], addons: [] });
    expect((await ann.client.get('/billing')).body).toMatchObject({
      subscription: null,
      billingEnabled: false,
      limits: { channel: { effective: 100 }, webhooks: { effective: 1_000_000 } },
    });
    expect((await ann.client.get('/billing/charges')).body).toEqual([]);
    expect((await ann.client.get('/billing/check-discount')).body).toEqual({ offerCoupon: false });
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      select gen_random_uuid(), ${ann.orgId}, 'sandbox', 'v1', n::text, n::text, '' from generate_series(1, 101) n`;
    await db.sql.begin(async (tx) => {
      for (const limit of ['channel', 'team_members', 'webhooks', 'storage_gb'] as const)
        expect([
          limit,
          await app.context.billing.admit(tx, ann.orgId, limit, limit === 'webhooks' ? 150 : 5_000),
        ]).toEqual([limit, undefined]);
    });
    const off = { status: 400, body: { code: 'billing_disabled' } };
    for (const [method, path, body] of [
      ['POST', '/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' }],
      ['POST', '/billing/prorate', { period: 'MONTHLY', billing: 'PRO' }],
      ['POST', '/billing/addons', { type: 'channel', packs: 1 }],
      ['DELETE', '/billing/addons/channel', undefined],
      ['POST', '/billing/refund-charges', { chargeIds: ['x'] }],
      ['POST', '/billing/cancel', { feedback: '' }],
      ['POST', '/billing/cancel-subscription', undefined],
      ['GET', '/billing/portal', undefined],
      ['POST', '/billing/finish-trial', undefined],
      ['POST', '/billing/lifetime', { code: 'x' }],
      ['POST', '/billing/apply-discount', { token: 'x' }],
      ['POST', '/payments', '{}'],
      ['POST', '/admin/lifetime-codes', { count: 1 }],
    ] as const)
      expect(await ann.client.send(method, path, body)).toMatchObject(off);
    expect(await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO', odd: 1 })).toMatchObject({
      status: 400,
      body: { code: 'unknown_field' },
    });
    expect(await app.context.payments.sweep(10)).toBe(0);
  });
});
