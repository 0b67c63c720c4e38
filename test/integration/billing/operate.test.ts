// oxlint-disable max-lines -- one product and one payment processor serve all cases
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
      'brand_kits',
      'webhooks',
      'competitors',
      'storage_gb',
      'video_exports',
    ]);
    expect(body.addons).toContainEqual({ type: 'storage_gb', packSize: 25, priceCents: 1_900 });
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
    const [given] = remote.discounts;
    expect(await offer(ann)).toBe(false);
    // asked again, as after a lost answer: it is told the same, and gets nothing more
    expect((await ann.client.post('/billing/apply-discount', { token })).body).toEqual({ success: true });
    expect(remote.discounts).toEqual([given]);
    remote.discounts = []; // a coupon for one invoice ends with it
    expect(await offer(ann)).toBe(false);
    expect((await ann.client.post('/billing/apply-discount', { token })).body).toEqual({ success: true });
    expect(remote.discounts).toEqual([]);
    await world.sql`update organizations set coupon_taken = 'coupon_0' where id = ${ann.orgId}`;
    remote.metadata['coupon'] = 'coupon_0';
    expect(await offer(ann)).toEqual(expect.any(String)); // another coupon than the one that was taken
    remote.discounts = ['di_1'];
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
