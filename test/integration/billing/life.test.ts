// oxlint-disable max-lines -- one product and one payment processor serve all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { WITH_MAIL } from '../../support/worlds/app.ts';
import { mailsOf } from '../../support/worlds/mail/mails.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

let world: PayingApp;
beforeAll(
  async () => (world = await payingApp({ env: { ...WITH_MAIL, BILLING_FEEDBACK_EMAIL: 'money@example.com' } })),
);
afterAll(() => world[Symbol.asyncDispose]());

const daysFromNow = (iso: string) => Math.round((new Date(iso).getTime() - new Date().getTime()) / 86_400_000);

describe('a first plan', () => {
  test('a new org is offered a trial of 30 days on its page, and the flag clears when the subscription exists [BI11, BI12, BI13, BI14, S64]', async () => {
    const ann = await world.signUp();
    expect((await ann.client.get('/user/self')).body.allowTrial).toBe(true);
    const ordered = await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO', utm: 'letter' });
    expect({ status: ordered.status, body: ordered.body }).toEqual({
      status: 200,
      body: { url: expect.stringMatching(/^https:\/\/pay/) },
    });
    const session = [...world.processor.sessions.values()].at(-1)!;
    expect(session.trialDays).toBe(30);
    expect(session.metadata).toMatchObject({
      service: 'service',
      billing: 'PRO',
      period: 'MONTHLY',
      utm: 'letter',
      uniqueId: expect.any(String),
    });

    const checkout = session.metadata['uniqueId']!;
    expect((await ann.client.get(`/billing/check/${checkout}`)).body).toEqual({ status: 1 });
    expect((await ann.client.get('/user/self')).body.allowTrial).toBe(true);
    const remote = world.processor.pay(session.id);
    expect(await world.subscription(ann)).toBeNull();
    await world.deliverAll();
    expect((await ann.client.get(`/billing/check/${checkout}`)).body).toEqual({ status: 2 });
    expect((await ann.client.get('/user/self')).body.allowTrial).toBe(false);
    const subscription = await world.subscription(ann);
    expect(subscription).toMatchObject({
      subscriptionTier: 'PRO',
      period: 'MONTHLY',
      identifier: checkout,
      totalChannels: 10,
      isTrial: true,
      isLifetime: false,
      pendingTier: null,
    });
    expect(daysFromNow(subscription.trialEndsAt)).toBe(30);

    await ann.client.post('/billing/cancel-subscription');
    await world.deliverAll();
    expect(remote.status).toBe('canceled');
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' });
    expect([...world.processor.sessions.values()].at(-1)!.trialDays).toBeUndefined();
  });

  test.each([
    ['STARTER', 'MONTHLY', 900],
    ['STARTER', 'YEARLY', 9_000],
    ['PRO', 'MONTHLY', 2_900],
    ['PRO', 'YEARLY', 29_000],
    ['TEAM', 'MONTHLY', 9_900],
    ['TEAM', 'YEARLY', 99_000],
    ['AGENCY', 'MONTHLY', 24_900],
    ['AGENCY', 'YEARLY', 249_000],
  ])(
    '%s %s costs %i cents; product and price are created on first use and reused later [BI1, BI56]',
    async (billing, period, cents) => {
      const ann = await world.signUp();
      await ann.client.post('/billing/subscribe', { period, billing });
      const { price } = [...world.processor.sessions.values()].at(-1)!;
      expect({ amount: price.unit_amount, every: price.recurring.interval }).toEqual({
        amount: cents,
        every: period === 'YEARLY' ? 'year' : 'month',
      });
      const bob = await world.signUp();
      await bob.client.post('/billing/subscribe', { period, billing });
      expect([...world.processor.sessions.values()].at(-1)!.price.id).toBe(price.id);
      expect(
        [...world.processor.prices.values()].filter(({ lookup_key }) => lookup_key === price.lookup_key),
      ).toHaveLength(1);
    },
  );

  test('a hundred repeated orders at once create one customer and one page [S18]', async () => {
    const ann = await world.signUp();
    const before = { customers: world.processor.customers.size, sessions: world.processor.sessions.size };
    const wish = { period: 'MONTHLY', billing: 'TEAM' };
    const answers = await Promise.all(Array.from({ length: 100 }, () => ann.client.post('/billing/subscribe', wish)));
    expect(new Set(answers.map(({ body }) => body.url)).size).toBe(1);
    expect({ customers: world.processor.customers.size, sessions: world.processor.sessions.size }).toEqual({
      customers: before.customers + 1,
      sessions: before.sessions + 1,
    });
    expect((await ann.client.post('/billing/subscribe', wish, { 'idempotency-key': 'k1' })).body).toEqual(
      answers[0]!.body,
    );
    const replayed = await ann.client.post('/billing/subscribe', wish, { 'idempotency-key': 'k1' });
    expect({ body: replayed.body, replayed: replayed.headers.get('idempotency-replayed') }).toEqual({
      body: answers[0]!.body,
      replayed: 'true',
    });
  });

  test('a lost response does not create a second page', async () => {
    const ann = await world.signUp();
    const before = world.processor.sessions.size;
    world.processor.fail('POST /v1/checkout/sessions', 'after');
    expect((await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' })).status).toBe(200);
    expect(world.processor.sessions.size).toBe(before + 1);
  });

  test('a different order closes the first page; a page in payment is not duplicated', async () => {
    const ann = await world.signUp();
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' });
    const first = [...world.processor.sessions.values()].at(-1)!;
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' });
    const second = [...world.processor.sessions.values()].at(-1)!;
    expect({ first: first.status, second: second.status }).toEqual({ first: 'expired', second: 'open' });
    expect((await ann.client.get(`/billing/check/${first.metadata['uniqueId']!}`)).body).toEqual({ status: 0 });
    world.processor.pay(second.id);
    for (const billing of ['TEAM', 'AGENCY'])
      expect(await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing })).toMatchObject({
        status: 409,
        body: { code: 'conflict' },
      });
    await world.deliverAll();
    expect((await world.subscription(ann)).subscriptionTier).toBe('TEAM');
  });

  test('an unknown tier or period is 400 with its field; an unknown page, or that of another org, is 0 [S64, S65]', async () => {
    const [ann, bob] = [await world.signUp(), await world.signUp()];
    expect(await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'FREE' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'billing' }] },
    });
    expect(await ann.client.post('/billing/subscribe', { period: 'DAILY', billing: 'PRO' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'period' }] },
    });
    expect((await ann.client.get(`/billing/check/${randomUUID()}`)).body).toEqual({ status: 0 });
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' });
    const id = [...world.processor.sessions.values()].at(-1)!.metadata['uniqueId']!;
    expect((await bob.client.get(`/billing/check/${id}`)).body).toEqual({ status: 0 });
  });
});

describe('the card check of a trial', () => {
  test('holds and releases 1 USD once for a subscription before the trial begins [BI54]', async () => {
    const ann = await world.signUp();
    const before = world.processor.intents.size;
    const remote = await world.buy(ann);
    const [intent, ...more] = [...world.processor.intents.values()].slice(before);
    expect({ intent, more }).toMatchObject({ intent: { amount: 100, status: 'canceled' }, more: [] });
    expect(
      world.processor.asked.filter(({ call }) => call === 'POST /v1/payment_intents').at(-1)!.fields,
    ).toMatchObject({
      capture_method: 'manual',
      currency: 'usd',
    });
    world.processor.change(remote.id, {});
    await world.deliverAll();
    expect(world.processor.intents.size).toBe(before + 1);
  });

  test('cancels the subscription on a refused card, keeps the trial available and mails the members who pay [S79]', async () => {
    const ann = await world.signUp();
    const remote = await world.buy(ann, 'PRO', 'MONTHLY', { good: false });
    expect((await ann.client.get('/billing')).body.subscription).toBeNull();
    expect((await ann.client.get('/user/self')).body.allowTrial).toBe(true);
    expect(remote.status).toBe('canceled');
    expect((await world.mails()).filter((mail) => mail.includes(ann.email))).toEqual([`card-refused ${ann.email}`]);
    expect(await world.audits(ann.orgId)).toContain('billing.card_refused');
    expect((await ann.client.get(`/billing/check/${remote.metadata['uniqueId']!}`)).body).toEqual({ status: 0 });
  });

  test('fails the delivery while the processor is away and completes on the next one', async () => {
    const ann = await world.signUp();
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' });
    world.skip();
    world.processor.pay([...world.processor.sessions.keys()].at(-1)!);
    const created =
      world.processor.told.find(({ type, id }) => type.endsWith('created') && id > world.processor.told.at(-4)!.id) ??
      world.processor.told.at(-2)!;
    for (let n = 0; n < 3; n++) world.processor.fail('POST /v1/payment_intents');
    expect((await world.deliver(created)).status).toBe(503);
    expect(await world.outcome(created)).toBeUndefined();
    expect(await world.deliver(created)).toMatchObject({ status: 200, body: { ok: true } });
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', isTrial: true });
  });

  test('skips a plan without a trial', async () => {
    const ann = await world.signUp();
    await world.buy(ann);
    await ann.client.post('/billing/cancel-subscription');
    await world.deliverAll();
    const before = world.processor.intents.size;
    await world.buy(ann, 'TEAM');
    expect(world.processor.intents.size).toBe(before);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', isTrial: false });
  });
});

describe('a change of plan', () => {
  test('an upgrade is applied and invoiced at once [BI19, BI20]', async () => {
    const ann = await world.signUp();
    await world.buy(ann, 'PRO');
    await ann.client.post('/billing/finish-trial');
    await world.deliverAll();
    expect((await ann.client.post('/billing/prorate', { period: 'MONTHLY', billing: 'TEAM' })).body).toEqual({
      price: 7_000,
      pruned: { channels: [], members: [] },
    });
    const upgraded = await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' });
    expect(upgraded.body).toMatchObject({
      subscription: { subscriptionTier: 'TEAM', totalChannels: 30, pendingTier: null },
    });
    expect(
      world.processor.asked.filter(({ call }) => call === 'POST /v1/subscriptions/:id').at(-1)!.fields,
    ).toMatchObject({
      proration_behavior: 'always_invoice',
    });
    expect((await ann.client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount)).toEqual([
      7_000, 2_900,
    ]);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', totalChannels: 30 });
    const same = await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' });
    expect(same).toMatchObject({ status: 409, body: { code: 'conflict' } });
  });

  test('a downgrade keeps the plan until the next period is paid; the price is that of the next invoice [BI21, BI22, BI23]', async () => {
    const ann = await world.signUp();
    const remote = await world.buy(ann, 'TEAM');
    await ann.client.post('/billing/finish-trial');
    await world.deliverAll();
    const ordered = await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'STARTER' });
    expect(ordered.body).toMatchObject({
      subscription: { subscriptionTier: 'TEAM', pendingTier: 'STARTER', totalChannels: 30 },
    });
    expect(remote.items.data[0]!.price.unit_amount).toBe(900);
    expect((await ann.client.get('/billing/charges')).body).toHaveLength(1);
    world.processor.change(remote.id, {});
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', pendingTier: 'STARTER' });
    world.processor.renew(remote.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({
      subscriptionTier: 'STARTER',
      pendingTier: null,
      totalChannels: 3,
    });
    expect(remote.metadata).toMatchObject({ billing: 'STARTER' });
    expect(remote.metadata['pending']).toBeUndefined();
    expect((await ann.client.get('/billing/charges')).body[0].amount).toBe(900);
  });

  test('the last of several requests wins: a downgrade, the current plan or an upgrade', async () => {
    const ann = await world.signUp();
    const remote = await world.buy(ann, 'AGENCY', 'YEARLY');
    const order = async (billing: string) =>
      (await ann.client.post('/billing/subscribe', { period: 'YEARLY', billing })).body.subscription;
    expect(await order('TEAM')).toMatchObject({ subscriptionTier: 'AGENCY', pendingTier: 'TEAM' });
    expect(await order('PRO')).toMatchObject({ subscriptionTier: 'AGENCY', pendingTier: 'PRO' });
    expect(await order('PRO')).toMatchObject({ subscriptionTier: 'AGENCY', pendingTier: 'PRO' });
    expect(await order('AGENCY')).toMatchObject({ subscriptionTier: 'AGENCY', pendingTier: null });
    expect(remote.items.data[0]!.price.unit_amount).toBe(249_000);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'AGENCY', pendingTier: null });
  });

  test('a downgrade with another period needs two steps: 400 names the period; the same plan with another period is applied at once', async () => {
    const ann = await world.signUp();
    await world.buy(ann, 'TEAM', 'MONTHLY');
    for (const path of ['/billing/subscribe', '/billing/prorate'])
      expect(await ann.client.post(path, { period: 'YEARLY', billing: 'PRO' })).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'period' }] },
      });
    expect((await ann.client.post('/billing/subscribe', { period: 'YEARLY', billing: 'TEAM' })).body).toMatchObject({
      subscription: { period: 'YEARLY', subscriptionTier: 'TEAM' },
    });
  });

  test('a card that cannot pay for an upgrade leads to the portal, and nothing changes [S64]', async () => {
    const ann = await world.signUp();
    const remote = await world.buy(ann, 'PRO');
    await ann.client.post('/billing/finish-trial');
    world.processor.setCard(remote.id, false);
    const refused = await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' });
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 200,
      body: { portal: expect.stringContaining('/portal/') },
    });
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    expect(remote.metadata).toMatchObject({ billing: 'PRO' });
    world.processor.setCard(remote.id, true);
  });

  test('an accepted order with a lost response is applied by its events', async () => {
    const ann = await world.signUp();
    await world.buy(ann, 'PRO');
    for (let n = 0; n < 3; n++) world.processor.fail('POST /v1/subscriptions/:id', 'after');
    expect((await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' })).status).toBe(503);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM' });
  });
});

describe('the end of a subscription', () => {
  test('cancelling takes effect at the end of the period and mails the feedback once; `undo` withdraws it; a repeat changes nothing, and nobody is shown a notification [BI33, BI34, S69, S222, NO33]', async () => {
    const ann = await world.signUp();
    const remote = await world.buy(ann, 'PRO');
    const mails = async () =>
      (await world.mails()).filter((mail) => mail === 'subscription-cancelled money@example.com').length;
    const before = await mails();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ann.client.post('/billing/cancel', { feedback: 'too dear' })),
    );
    const { id, cancelAt } = await world.subscription(ann);
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([JSON.stringify({ id, cancel_at: cancelAt })]));
    expect(cancelAt).toBe(new Date(remote.items.data[0]!.current_period_end * 1000).toISOString());
    expect(await mails()).toBe(before + 1);
    const [told] = (await mailsOf({ sql: world.sql, vault: world.app.context.vault }, 'money@example.com')).slice(-1);
    expect(told!.content).toMatchObject({
      template: 'subscription-cancelled',
      data: { orgId: ann.orgId, userEmail: ann.email, feedback: 'too dear' },
    });
    expect(await world.sql`select from notifications where org_id = ${ann.orgId}`).toEqual([]);
    await world.deliverAll();
    expect((await ann.client.post('/billing/cancel', { feedback: 'again' })).body).toEqual({ id, cancel_at: cancelAt });
    expect(await mails()).toBe(before + 1);

    expect((await ann.client.post('/billing/cancel', { feedback: '', undo: true })).body).toEqual({
      id,
      cancel_at: null,
    });
    expect(remote.cancel_at_period_end).toBe(false);
    expect((await ann.client.post('/billing/cancel', { feedback: 'at last' })).body).toEqual({
      id,
      cancel_at: expect.any(String),
    });
    expect(await mails()).toBe(before + 2);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    world.processor.renew(remote.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toBeNull();
  });

  test('cancelling again, after the first was withdrawn in the portal, is told again [BI34, S69]', async () => {
    const ann = await world.signUp();
    const remote = await world.buy(ann, 'PRO');
    const told = async () =>
      (await mailsOf({ sql: world.sql, vault: world.app.context.vault }, 'money@example.com'))
        .filter(({ orgId }) => orgId === ann.orgId)
        .map(({ content }) => content.template === 'subscription-cancelled' && content.data.feedback);
    await ann.client.post('/billing/cancel', { feedback: 'too dear' });
    await world.deliverAll();
    world.processor.advance(60);
    world.processor.change(remote.id, { cancel_at_period_end: false, cancel_at: null });
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ cancelAt: null });
    world.processor.advance(60);
    expect((await ann.client.post('/billing/cancel', { feedback: 'at last' })).body.cancel_at).toEqual(
      expect.any(String),
    );
    expect(await told()).toEqual(['too dear', 'at last']);
    expect((await world.audits(ann.orgId)).filter((action) => action === 'billing.cancelled')).toHaveLength(2);
  });

  test('cancelling now ends it at once, at the processor too; later events change nothing more [BI35, S70]', async () => {
    const ann = await world.signUp();
    const remote = await world.buy(ann, 'PRO');
    expect((await ann.client.post('/billing/cancel-subscription')).body).toEqual({ cancelled: true });
    expect(await world.subscription(ann)).toBeNull();
    expect(await world.sql`select 1 from subscriptions where org_id = ${ann.orgId}`).toHaveLength(0);
    expect(remote.status).toBe('canceled');
    await world.deliverAll();
    expect(await world.subscription(ann)).toBeNull();
    for (const path of ['/billing/cancel-subscription', '/billing/finish-trial'])
      expect((await ann.client.post(path)).status).toBe(409);
    expect((await ann.client.post('/billing/cancel', { feedback: '' })).status).toBe(409);
  });

  test('a member with billing:read and without billing:manage finishes the trial, once, and reads whether it is over [BI37, S72]', async () => {
    const ann = await world.signUp();
    const finished = async () => (await ann.client.get('/billing/is-trial-finished')).body.finished;
    expect(await finished()).toBe(false);
    await world.buy(ann, 'PRO');
    expect(await finished()).toBe(false);
    for (const role of ['viewer', 'member', 'editor']) {
      await world.sql`update memberships set role_key = ${role} where org_id = ${ann.orgId}`;
      expect((await ann.client.post('/billing/finish-trial')).body.code).toBe('forbidden');
    }
    await world.sql`update memberships set role_key = 'admin' where org_id = ${ann.orgId}`;
    expect((await ann.client.post('/billing/finish-trial')).body).toEqual({ finish: true });
    await world.sql`update memberships set role_key = 'owner' where org_id = ${ann.orgId}`;
    expect(await world.subscription(ann)).toMatchObject({ isTrial: false });
    expect(await finished()).toBe(true);
    expect((await ann.client.post('/billing/finish-trial')).status).toBe(409);
  });

  test('an org can subscribe again with a new anchor', async () => {
    const ann = await world.signUp();
    await world.buy(ann, 'PRO');
    await ann.client.post('/billing/cancel-subscription');
    await world.deliverAll();
    await world.buy(ann, 'AGENCY');
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'AGENCY', isTrial: false, cancelAt: null });
    expect(await world.audits(ann.orgId)).toEqual([
      'billing.checkout_opened',
      'billing.subscribed',
      'billing.subscription_ended',
      'billing.checkout_opened',
      'billing.subscribed',
    ]);
  });
});

test('a member with billing:read and without billing:manage opens the portal; 409 before there is a customer [BI36, S71]', async () => {
  const ann = await world.signUp();
  expect((await ann.client.get('/billing/portal')).status).toBe(409);
  await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' });
  await world.sql`update memberships set role_key = 'viewer' where org_id = ${ann.orgId}`;
  expect((await ann.client.get('/billing/portal')).body.code).toBe('forbidden');
  await world.sql`update memberships set role_key = 'admin' where org_id = ${ann.orgId}`;
  expect((await ann.client.get('/billing/portal')).body).toEqual({
    portal: expect.stringMatching(/^https:\/\/pay\.example\.com\/portal\/cus_/),
  });
});
