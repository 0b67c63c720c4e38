import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { disable, enable } from '../../../src/publishing/channels/transitions/disable.ts';
import { startingWith } from '../../support/worlds/publishing/world.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { mailsOf } from '../../support/worlds/mail/mails.ts';
import { editors, queuedChannels } from '../../support/worlds/billing.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

let world: PayingApp;
beforeAll(async () => (world = await payingApp({ env: { ...WITH_MAIL, FRONTEND_URL: 'https://app.example.com' } })));
afterAll(() => world[Symbol.asyncDispose]());

/** Someone on a paid plan whose next invoice could not be collected. */
async function owing(billing = 'PRO') {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  const remote = await world.buy(ann, billing);
  return {
    ann,
    remote,
    fail: async () => (world.processor.setCard(remote.id, false), world.processor.renew(remote.id), world.deliverAll()),
  };
}
const channels = (orgId: string, many: number) => queuedChannels(world.sql, orgId, many);
const members = (orgId: string, many: number) => editors(world.sql, orgId, many);
const state = async (orgId: string) => ({
  enabled: (
    await world.sql<
      { name: string }[]
    >`select name from channels where org_id = ${orgId} and not disabled order by created_at`
  ).map(({ name }) => name),
  due: (await world.sql`select 1 from channels where org_id = ${orgId} and next_due_at is not null`).length,
  posts: Object.fromEntries(
    (
      await world.sql<
        { detail: string; n: number }[]
      >`select detail, count(*)::int as n from posts where org_id = ${orgId} group by 1`
    ).map(({ detail, n }) => [detail, n]),
  ),
  seats: (await world.sql`select 1 from memberships where org_id = ${orgId} and not disabled`).length,
});
const mailsTo = async ({ email }: SignedUp) =>
  (await world.mails()).filter((mail) => mail.endsWith(email)).map((mail) => mail.split(' ')[0]);
const pass = async ({ orgId }: SignedUp, days: number) => {
  await world.passDays(orgId, days);
  await world.settled();
};

describe('a failed payment', () => {
  test('starts a grace period of 7 days with full service; further attempts do not extend it [BI15, BI16, BI18]', async () => {
    const { ann, remote, fail } = await owing();
    const key = await ann.withKey();
    await channels(ann.orgId, 2);
    await fail();
    const { gracePeriodEnd } = await world.subscription(ann);
    expect(Math.round((new Date(gracePeriodEnd).getTime() - new Date().getTime()) / 86_400_000)).toBe(7);
    expect((await key.get('/public/v1/is-connected')).status).toBe(200);
    expect((await ann.client.get('/billing')).body).toMatchObject({
      subscription: { subscriptionTier: 'PRO' },
      limits: { channel: { effective: 10 } },
    });
    expect(await state(ann.orgId)).toMatchObject({ due: 2, posts: { scheduled: 2 } });
    await pass(ann, 2);
    const shifted = (await world.subscription(ann)).gracePeriodEnd;
    world.processor.advance(86_400);
    world.processor.renew(remote.id);
    await world.deliverAll();
    expect((await world.subscription(ann)).gracePeriodEnd).toBe(shifted);
  });

  test('mails members who may manage billing on day 0, 3 and 6 and at the end, each once [BI17, S220, S221]', async () => {
    const { ann, fail } = await owing();
    await members(ann.orgId, 1);
    await ann.client.put('/notifications/preferences', { categories: { ai_budget: { email: false, inApp: false } } });
    await fail();
    expect(await mailsTo(ann)).toEqual(['payment-failed']);
    const [{ content }] = (await mailsOf({ sql: world.sql, vault: world.app.context.vault }, ann.email)) as [
      Awaited<ReturnType<typeof mailsOf>>[0],
    ];
    expect(content).toMatchObject({ template: 'payment-failed', data: { url: 'https://app.example.com/billing' } });
    for (const [days, mails] of [
      [2, 1],
      [1, 2],
      [2, 2],
      [1, 3],
      [0, 3],
    ] as const) {
      await pass(ann, days);
      await world.settled();
      expect(await mailsTo(ann)).toHaveLength(mails);
    }
    await pass(ann, 1);
    await world.settled();
    expect(await mailsTo(ann)).toEqual(['payment-failed', 'payment-failed', 'payment-failed', 'subscription-lapsed']);
    expect(
      (await world.sql<{ n: number }[]>`select count(*)::int as n from emails where org_id = ${ann.orgId}`)[0]!.n,
    ).toBe(4); // the editor heard nothing
    const shown = await world.sql<{ title: string; link: string }[]>`
      select title, link
      from notifications
      where user_id = ${ann.userId}
      order by seq`;
    expect(shown.map(({ title }) => title)).toEqual([
      ...Array(3).fill('The payment has failed'),
      'The subscription is suspended',
    ]);
    expect(new Set(shown.map(({ link }) => link))).toEqual(new Set(['/billing']));
    expect(await world.sql`select from notifications where org_id = ${ann.orgId}`).toHaveLength(4);
    expect(await world.audits(ann.orgId)).toEqual(
      expect.arrayContaining(['billing.payment_failed', 'billing.subscription_lapsed']),
    );
  });

  test('mails a custom role with billing:manage too', async () => {
    const { ann, fail } = await owing();
    await members(ann.orgId, 1);
    const role = newId();
    await world.sql`
      insert into roles (id, org_id, name, permissions)
      values (${role}, ${ann.orgId}, 'Treasurer', '{billing:manage}')`;
    await world.sql`update memberships set role_key = ${role} where org_id = ${ann.orgId} and role_key = 'editor'`;
    await fail();
    expect(
      await world.sql`select 1 from emails where org_id = ${ann.orgId} and template = 'payment-failed'`,
    ).toHaveLength(2);
  });

  test('leaves the org without an active subscription at the end: keys 401, queued posts paused, nothing deleted; a payment restores it [S80, S220]', async () => {
    const { ann, remote, fail } = await owing();
    const key = await ann.withKey();
    await channels(ann.orgId, 2);
    await fail();
    await pass(ann, 7);
    await world.settled();
    await eventually(
      'the key opens nothing any more',
      async () => (await key.get('/public/v1/is-connected')).body.message === 'No subscription found',
    );
    expect((await key.get('/public/v1/is-connected')).status).toBe(401);
    expect(await state(ann.orgId)).toEqual({
      enabled: ['channel 0', 'channel 1'],
      due: 0,
      posts: { paused: 2 },
      seats: 1,
    });
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    expect((await ann.client.get('/billing')).body.limits.channel.effective).toBe(3);
    expect((await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' })).body).toEqual({
      portal: expect.any(String),
    });

    world.processor.setCard(remote.id, true);
    world.processor.collect(remote.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ gracePeriodEnd: null });
    await eventually('the key opens again', async () => (await key.get('/public/v1/is-connected')).status === 200);
    expect(await state(ann.orgId)).toMatchObject({ due: 2, posts: { scheduled: 2 } });
  });

  test('sends no more notices once it is paid in time', async () => {
    const { ann, remote, fail } = await owing();
    await fail();
    world.processor.setCard(remote.id, true);
    world.processor.collect(remote.id);
    await world.deliverAll();
    await pass(ann, 30);
    expect(await mailsTo(ann)).toEqual(['payment-failed']);
    expect(await world.subscription(ann)).toMatchObject({ gracePeriodEnd: null, subscriptionTier: 'PRO' });
  });

  test.each([true, false])(
    'removes the row when the processor gives up, end seen before: %s; a new plan resumes the posts [S80]',
    async (isEndSeen) => {
      const { ann, remote, fail } = await owing();
      await channels(ann.orgId, 1);
      await fail();
      await (isEndSeen ? pass(ann, 7) : world.passDays(ann.orgId, 7));
      world.processor.end(remote.id);
      await world.deliverAll();
      expect(await world.subscription(ann)).toBeNull();
      expect(await mailsTo(ann)).toEqual(['payment-failed', 'subscription-lapsed']);
      expect(await state(ann.orgId)).toMatchObject({ due: 0, posts: { paused: 1 } });
      await world.buy(ann, 'STARTER');
      expect(await state(ann.orgId)).toMatchObject({ due: 1, posts: { scheduled: 1 } });
    },
  );

  test('keeps the posts paused whatever is done to their channels once the processor has given up, until a plan is paid [S80]', async () => {
    const { ann, remote, fail } = await owing();
    const [id] = await channels(ann.orgId, 1);
    const startAgain = async () => {
      await disable(world.sql, ann.orgId, id!);
      await enable(world.sql, startingWith(world.app.context.billing), ann.orgId, id!);
      return state(ann.orgId);
    };
    await fail();
    await pass(ann, 7);
    expect(await startAgain()).toMatchObject({ due: 0, posts: { paused: 1 } });
    world.processor.end(remote.id);
    await world.deliverAll();
    expect(await startAgain()).toMatchObject({ due: 0, posts: { paused: 1 } });
    await world.buy(ann, 'STARTER');
    expect(await state(ann.orgId)).toMatchObject({ due: 1, posts: { scheduled: 1 } });
    expect(await startAgain()).toMatchObject({ due: 1, posts: { scheduled: 1 } });
  });

  test('has no effect while billing is off, and applies again when it is on [BI2, S80]', async () => {
    const { ann, fail } = await owing();
    const [id] = await channels(ann.orgId, 1);
    await fail();
    await pass(ann, 7);
    expect(await state(ann.orgId)).toMatchObject({ posts: { paused: 1 } });
    await using off = await testApp({ sql: world.sql }); // billing begins anew as a process opens
    await disable(world.sql, ann.orgId, id!);
    await enable(world.sql, startingWith(off.context.billing), ann.orgId, id!);
    expect(await state(ann.orgId)).toMatchObject({ due: 1, posts: { scheduled: 1 } });
    await world.app.context.billing.begin();
    await world.settled();
    expect(await state(ann.orgId)).toMatchObject({ due: 0, posts: { paused: 1 } });
  });

  test('sends one notice from two concurrent sweeps', async () => {
    const { ann, fail } = await owing();
    await fail();
    await world.passDays(ann.orgId, 3);
    await Promise.all(Array.from({ length: 10 }, () => world.settled()));
    expect(await mailsTo(ann)).toEqual(['payment-failed', 'payment-failed']);
  });
});

describe('a failed payment of packs', () => {
  async function owingPacks(type = 'channel') {
    const { ann, remote } = await owing();
    const packs = await world.buyPacks(ann, type, 2);
    const renew = async ({ id }: { id: string }, good: boolean) => {
      world.processor.setCard(id, good);
      world.processor.renew(id);
      await world.deliverAll();
    };
    return { ann, remote, packs, renew };
  }
  const graceOf = async (ann: SignedUp) => (await world.subscription(ann)).gracePeriodEnd;

  test('starts the grace period with its notices; unpaid at its end the packs count no more, and a payment restores all [BI15, BI16, BI17, S80, S220, S221]', async () => {
    const { ann, packs, renew } = await owingPacks();
    await channels(ann.orgId, 12);
    await renew(packs, false);
    expect(await world.subscription(ann)).toMatchObject({ gracePeriodEnd: expect.any(String), extraChannels: 2 });
    expect(await mailsTo(ann)).toEqual(['payment-failed']);
    expect(await world.audits(ann.orgId)).toContain('billing.payment_failed');
    expect((await ann.client.post('/billing/addons', { type: 'channel', packs: 3 })).body).toEqual({
      url: expect.stringContaining('/portal/'),
    });
    await pass(ann, 7);
    expect((await ann.client.get('/billing')).body.limits.channel.effective).toBe(3);
    expect(await state(ann.orgId)).toMatchObject({ due: 0, posts: { paused: 12 } });

    world.processor.setCard(packs.id, true);
    world.processor.collect(packs.id);
    await world.deliverAll();
    expect(await graceOf(ann)).toBeNull();
    const { enabled, ...restored } = await state(ann.orgId);
    expect([enabled.length, restored]).toEqual([12, { due: 12, posts: { scheduled: 12 }, seats: 1 }]);
    expect((await ann.client.get('/billing')).body.limits.channel.effective).toBe(20);
  });

  test('ends the grace period only when plan and packs are paid [S220]', async () => {
    const { ann, remote, packs, renew } = await owingPacks();
    await renew(remote, false);
    const end = await graceOf(ann);
    await renew(packs, false);
    expect(await graceOf(ann)).toBe(end);
    world.processor.setCard(remote.id, true);
    world.processor.collect(remote.id);
    await world.deliverAll();
    expect(await graceOf(ann)).toBe(end);
    world.processor.advance(60);
    world.processor.change(packs.id, { status: 'active' }); // paid elsewhere
    await world.deliverAll();
    expect(await graceOf(ann)).toBeNull();
  });

  test('ends with the packs that are given up: the plan goes on [S219]', async () => {
    const { ann, packs, renew } = await owingPacks();
    await renew(packs, false);
    await pass(ann, 7);
    expect((await ann.client.get('/billing')).body.limits.channel.effective).toBe(3);
    world.processor.end(packs.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({
      subscriptionTier: 'PRO',
      gracePeriodEnd: null,
      extraChannels: 0,
    });
    expect((await ann.client.get('/billing')).body.limits.channel.effective).toBe(10);
  });

  test('leaves all channels enabled when a lower plan begins unpaid, and the payment enforces its limits [BI24, S80]', async () => {
    const { ann, remote, packs, renew } = await owingPacks();
    await channels(ann.orgId, 15);
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'STARTER' });
    await renew(packs, false);
    await pass(ann, 7);
    await renew(remote, true);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'STARTER', pendingTier: null });
    expect((await state(ann.orgId)).enabled).toHaveLength(15);
    world.processor.setCard(packs.id, true);
    world.processor.collect(packs.id);
    await world.deliverAll();
    expect((await state(ann.orgId)).enabled).toHaveLength(13); // those of the plan, and ten of the packs
  });

  test('is ended by a plan for life, which enforces its limits', async () => {
    const { ann, remote, packs, renew } = await owingPacks();
    await channels(ann.orgId, 105);
    for (const one of [remote, packs]) await renew(one, false);
    await pass(ann, 7);
    world.processor.end(packs.id);
    await world.deliverAll();
    expect((await state(ann.orgId)).enabled).toHaveLength(105); // while nothing is paid nothing is stopped
    const by = { userId: null, impersonatorId: null, ip: null };
    const [code] = await world.app.context.payments.mintCodes(by, 1);
    await world.app.context.payments.redeem(ann.orgId, by, code!);
    expect((await state(ann.orgId)).enabled).toHaveLength(100);
  });

  test('of a plan for life, which has no grace period, counts no packs once the processor gives up [S219]', async () => {
    const { ann, packs, renew } = await owingPacks();
    await world.sql`update subscriptions set is_lifetime = true, processor_id = null where org_id = ${ann.orgId}`;
    await renew(packs, false);
    expect(await world.subscription(ann)).toMatchObject({ gracePeriodEnd: null, extraChannels: 2 });
    world.processor.advance(60);
    world.processor.change(packs.id, { status: 'unpaid' });
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ gracePeriodEnd: null, extraChannels: 0 });
    world.processor.advance(60);
    world.processor.collect(packs.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ extraChannels: 2 });
  });

  test('that were never paid starts no grace period', async () => {
    const { ann, packs } = await owingPacks();
    world.processor.end(packs.id);
    await world.deliverAll();
    const next = await world.buyPacks(ann, 'webhooks', 1);
    world.processor.advance(60);
    world.processor.change(next.id, { status: 'incomplete' });
    await world.deliverAll();
    world.processor.setCard(next.id, false);
    world.processor.renew(next.id);
    world.processor.told.splice(-2, 1); // the invoice alone is told
    await world.deliverAll();
    expect(await graceOf(ann)).toBeNull();
  });
});

describe('a lower limit', () => {
  test('disables channels beyond it after a downgrade, newest first, as previewed [BI24, BI25, S64]', async () => {
    const { ann, remote } = await owing('TEAM');
    await channels(ann.orgId, 5);
    await members(ann.orgId, 3);
    const { pruned } = (await ann.client.post('/billing/prorate', { period: 'MONTHLY', billing: 'STARTER' })).body;
    expect(pruned.channels.map(({ name }: { name: string }) => name).toSorted()).toEqual(['channel 3', 'channel 4']);
    expect(pruned.members).toHaveLength(3);
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'STARTER' });
    expect((await state(ann.orgId)).enabled).toHaveLength(5);
    world.processor.renew(remote.id);
    await world.deliverAll();
    expect(await state(ann.orgId)).toEqual({
      enabled: ['channel 0', 'channel 1', 'channel 2'],
      due: 3,
      posts: { scheduled: 3, paused: 2 },
      seats: 1,
    });
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'STARTER', totalChannels: 3 });
  });

  test('applies after `customer.subscription.deleted`: STARTER, excess disabled, row and packs removed; overrides stay [BI26, BI27, BI28, S218]', async () => {
    const { ann, remote } = await owing('PRO');
    const packs = await world.buyPacks(ann, 'channel', 1);
    await world.sql`update organizations set limit_overrides = '{"team_members": 2}' where id = ${ann.orgId}`;
    await channels(ann.orgId, 12);
    await members(ann.orgId, 2);
    world.processor.end(remote.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toBeNull();
    expect(await world.sql`select 1 from subscriptions where org_id = ${ann.orgId}`).toHaveLength(0);
    expect(packs.status).toBe('canceled');
    expect(await state(ann.orgId)).toMatchObject({ enabled: ['channel 0', 'channel 1', 'channel 2'], seats: 2 });
    expect((await ann.client.get('/billing')).body).toMatchObject({
      subscription: null,
      limits: { channel: { effective: 3, addons: 0 }, team_members: { effective: 2 } },
    });
  });
});
