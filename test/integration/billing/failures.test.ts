import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type Answer, Client, type SignedUp, testApp } from '../../support/worlds/app.ts';
import { WITH_BILLING } from '../../support/worlds/billing.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

// The processor fails, or we do, half-way through: afterwards money and rows say the same, and nothing was done twice.

let world: PayingApp;
beforeAll(async () => (world = await payingApp()));
afterAll(() => world[Symbol.asyncDispose]());

const order = (client: Client, billing: string, more = {}) => client.post('/billing/subscribe', { period: 'MONTHLY', billing, ...more });
const pageOf = ({ body }: Answer) => world.processor.sessions.get(body.url.split('/').at(-1))!;
const customerOf = async ({ orgId }: SignedUp) =>
  (await world.sql<{ id: string }[]>`select customer_id as id from payment_customers where org_id = ${orgId}`)[0]!.id;
/** Someone who pays, without a trial. */
async function paying(billing = 'PRO') {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  return { ann, remote: await world.buy(ann, billing) };
}

describe('an error of the processor, which it repeats to the same key for a day', () => {
  test.each(['POST /v1/prices', 'POST /v1/customers', 'POST /v1/checkout/sessions'])(
    'at %s keeps nobody from buying: the next order has its page [BI56, S64]',
    async (call) => {
      const ann = await world.signUp();
      world.processor.fail(call, 'error');
      expect(await order(ann.client, 'STARTER')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      const answer = await order(ann.client, 'STARTER');
      expect(answer.status).toBe(200);
      expect(pageOf(answer)).toMatchObject({ status: 'open', customer: await customerOf(ann) });
      expect(await order(ann.client, 'STARTER')).toMatchObject({ status: 200, body: answer.body });
    },
  );

  test('at the card check keeps no trial from beginning: the next delivery has it [BI54, S77]', async () => {
    const ann = await world.signUp();
    const page = pageOf(await order(ann.client, 'PRO'));
    world.skip();
    const from = world.processor.told.length;
    world.processor.pay(page.id);
    const [created] = world.processor.told.slice(from);
    world.processor.fail('POST /v1/payment_intents', 'error');
    expect((await world.deliver(created!)).status).toBe(503);
    expect(await world.subscription(ann)).toBeNull();
    expect((await world.deliver(created!)).body).toEqual({ ok: true });
    expect(await world.subscription(ann)).toMatchObject({ isTrial: true });
  });

  test('at a refund keeps no money back: asked for again it goes, once [BI32, S68]', async () => {
    const { ann } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const refund = () => ann.client.post('/billing/refund-charges', { chargeIds: [id] });
    world.processor.fail('POST /v1/refunds', 'error');
    expect((await refund()).status).toBe(503);
    for (let n = 0; n < 2; n++) expect(await refund()).toMatchObject({ status: 200, body: { refunded: [id], failed: [] } });
    expect(world.processor.charges.find((charge) => charge.id === id)!.amount_refunded).toBe(2_900);
  });
});

describe('money that goes back, and the plan that ends for it', () => {
  test.each(['DELETE /v1/subscriptions/:id', 'POST /v1/refunds'])(
    'hang together: when %s fails, both are finished without being asked for again',
    async (call) => {
      const { ann, remote } = await paying();
      const [{ id }] = (await ann.client.get('/billing/charges')).body;
      for (let n = 0; n < 3; n++) world.processor.fail(call);
      const { status } = await ann.client.post('/billing/refund-charges', { chargeIds: [id] });
      expect(call === 'POST /v1/refunds' ? [503] : [200, 503]).toContain(status); // the tasks of one commit have no order: the money may be back before the plan's end fails
      expect(await world.subscription(ann)).toBeNull();
      await world.sql`update payment_tasks set due_at = now() where org_id = ${ann.orgId}`;
      await world.settled();
      expect(remote.status).toBe('canceled');
      expect(world.processor.charges.find((charge) => charge.id === id)!.amount_refunded).toBe(2_900);
      expect((await world.audits(ann.orgId)).filter((action) => action === 'billing.charge_refunded')).toHaveLength(1);
      expect(await world.sql`select 1 from payment_tasks where org_id = ${ann.orgId}`).toHaveLength(0);
      expect((await ann.client.post('/billing/refund-charges', { chargeIds: [id] })).body).toEqual({ refunded: [id], failed: [] });
    },
  );
});

describe('an order whose answer was lost', () => {
  const lost = (call: string) => {
    for (let n = 0; n < 3; n++) world.processor.fail(call, 'after'); // as often as the SDK asks
  };

  test('is made by another member in other words: one customer, with a name, and one page that can be paid', async () => {
    const [ann, bob] = [await world.signUp(), await world.signUp()];
    await world.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'owner')`;
    expect((await bob.client.post('/user/change-org', { id: ann.orgId })).status).toBe(200);
    const before = world.processor.customers.size;
    lost('POST /v1/customers');
    expect((await order(ann.client, 'PRO')).status).toBe(503);
    expect((await order(bob.client, 'PRO')).status).toBe(200);
    expect([...world.processor.customers.values()].slice(before)).toMatchObject([{ metadata: { orgId: ann.orgId }, name: 'Acme Ltd', email: bob.email }]);

    const eve = await world.signUp();
    lost('POST /v1/checkout/sessions');
    expect((await order(eve.client, 'PRO', { utm: 'letter' })).status).toBe(503);
    const answer = await order(eve.client, 'PRO', { utm: 'poster' });
    expect(answer.status).toBe(200);
    expect(pageOf(answer).metadata['utm']).toBe('poster');
  });
});

describe('a change whose answer was lost', () => {
  const lost = () => {
    for (let n = 0; n < 3; n++) world.processor.fail('POST /v1/subscriptions/:id', 'after');
  };

  test('is told as not done, and is done: its events bring it, and asking again changes nothing more [BI33, BI37, S66, S69, S72]', async () => {
    const ann = await world.signUp();
    await world.buy(ann);
    await world.buyPacks(ann, 'webhooks', 2);
    for (const [work, heard] of [
      [(client: Client) => client.post('/billing/finish-trial'), { isTrial: false }],
      [(client: Client) => client.post('/billing/addons', { type: 'webhooks', packs: 5 }), { extraWebhooks: 5 }],
      [(client: Client) => client.post('/billing/cancel', { feedback: 'too dear' }), { cancelAt: expect.any(String) }],
      [(client: Client) => client.post('/billing/cancel', { feedback: '', undo: true }), { cancelAt: null }],
    ] as const) {
      world.processor.advance(60);
      lost();
      expect((await work(ann.client)).status).toBe(503);
      await world.deliverAll();
      expect(await world.subscription(ann)).toMatchObject(heard);
      expect((await work(ann.client)).status).toBeLessThan(500);
      await world.deliverAll();
      expect(await world.subscription(ann)).toMatchObject(heard);
    }
    expect((await ann.client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount)).toEqual([2_700, 2_900, 1_800]);
  });

  test('of a coupon gives it once [DE7, S74]', async () => {
    await using other = await payingApp({ env: { PAYMENTS_DISCOUNT_ID: 'coupon_1' } });
    const ann = await other.signUp();
    const remote = await other.buy(ann);
    await ann.client.post('/billing/finish-trial');
    await other.deliverAll();
    const token = (await ann.client.get('/billing/check-discount')).body.offerCoupon;
    const apply = () => ann.client.post('/billing/apply-discount', { token });
    for (let n = 0; n < 3; n++) other.processor.fail('POST /v1/subscriptions/:id', 'after');
    expect((await apply()).status).toBe(503);
    const [given] = remote.discounts;
    expect(given).toBeDefined();
    expect(await apply()).toMatchObject({ status: 200, body: { success: false } });
    expect(remote.discounts).toEqual([given]);
    expect((await ann.client.get('/billing/check-discount')).body).toEqual({ offerCoupon: false });
  });
});

test('a lower plan waits for the invoice of its first period to be paid, through grace and beyond its end [BI21, BI23, S220]', async () => {
  const { ann, remote } = await paying('TEAM');
  await order(ann.client, 'PRO');
  world.processor.setCard(remote.id, false);
  world.processor.renew(remote.id);
  await world.deliverAll();
  expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', pendingTier: 'PRO', gracePeriodEnd: expect.any(String), totalChannels: 30 });
  await world.passDays(ann.orgId, 8);
  await world.settled();
  expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', pendingTier: 'PRO' });
  world.processor.setCard(remote.id, true);
  world.processor.collect(remote.id);
  await world.deliverAll();
  expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', pendingTier: null, gracePeriodEnd: null, totalChannels: 10 });
});

test('of orders for different plans at once one has a page, and no other can be paid [BI14]', async () => {
  for (let round = 0; round < 10; round++) {
    const ann = await world.signUp();
    const answers = await Promise.all(['STARTER', 'PRO', 'TEAM', 'AGENCY', 'PRO', 'TEAM'].map((billing) => order(ann.client, billing)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(answers.some(({ status }) => status === 409) ? [200, 409] : [200]));
    const customer = await customerOf(ann);
    const open = [...world.processor.sessions.values()].filter((page) => page.customer === customer && page.status === 'open');
    expect(open).toHaveLength(1);
    const last = answers.filter(({ status }) => status === 200).map(pageOf);
    expect(last).toContainEqual(open[0]);
  }
});

test('a page that was open when the organization was deleted buys nothing: what was paid on it ends at the processor', async () => {
  const ann = await world.signUp();
  const page = pageOf(await order(ann.client, 'PRO'));
  await world.sql`update organizations set deleted_at = now() where id = ${ann.orgId}`;
  const remote = world.processor.pay(page.id);
  await world.deliverAll();
  expect(await world.sql`select 1 from subscriptions where org_id = ${ann.orgId}`).toHaveLength(0);
  expect(remote.status).toBe('canceled');
});

test('more than before, while a lower plan waits, costs the difference to what was paid, as it was shown [BI19, BI20, S64]', async () => {
  const { ann } = await paying('TEAM');
  await order(ann.client, 'PRO');
  expect((await ann.client.post('/billing/prorate', { period: 'MONTHLY', billing: 'AGENCY' })).body.price).toBe(15_000);
  expect((await order(ann.client, 'AGENCY')).body.subscription).toMatchObject({ subscriptionTier: 'AGENCY', pendingTier: null });
  expect((await ann.client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount)).toEqual([15_000, 9_900]);
});

describe('our process is killed between the call of the processor and our commit', () => {
  const PROGRAM = fileURLToPath(new URL('../../support/processes/paying-process.ts', import.meta.url));
  async function startProcess() {
    const child = spawn(process.execPath, ['--no-warnings', PROGRAM, world.db.url, world.processor.url], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const address = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()));
      void exited.then(() => reject(new Error('It ended')));
    });
    return {
      address,
      async kill() {
        child.kill('SIGKILL');
        await exited;
      },
    };
  }
  /** Does it in a process of its own, which is killed when the processor has done the call and not answered. */
  async function cutAt(call: string, { client }: SignedUp, work: (client: Client) => Promise<unknown>): Promise<void> {
    const host = await startProcess();
    try {
      const done = world.processor.keepSilent(call);
      const there = Object.assign(new Client(host.address), { cookies: client.cookies });
      const answer = work(there).then(
        () => 'answered',
        () => 'cut',
      );
      await done;
      await host.kill();
      expect(await answer).toBe('cut');
    } finally {
      await host.kill();
    }
  }

  test.each(['POST /v1/customers', 'POST /v1/checkout/sessions'])('%s: the next order is of one customer, on one page [S18]', async (call) => {
    const ann = await world.signUp();
    const before = { customers: world.processor.customers.size, sessions: world.processor.sessions.size };
    await cutAt(call, ann, (client) => order(client, 'TEAM'));
    expect((await order(ann.client, 'TEAM')).status).toBe(200);
    expect({ customers: world.processor.customers.size, sessions: world.processor.sessions.size }).toEqual({
      customers: before.customers + 1,
      sessions: before.sessions + 1,
    });
  });

  test('a plan that was changed: its events bring it, and it is paid once [BI19]', async () => {
    const { ann } = await paying();
    await cutAt('POST /v1/subscriptions/:id', ann, (client) => order(client, 'TEAM'));
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', totalChannels: 30 });
    expect((await order(ann.client, 'TEAM')).status).toBe(409);
    expect((await ann.client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount)).toEqual([7_000, 2_900]);
  });

  test('an end at once: its event brings it [BI35, S70]', async () => {
    const { ann, remote } = await paying();
    await cutAt('DELETE /v1/subscriptions/:id', ann, (client) => client.post('/billing/cancel-subscription'));
    expect([remote.status, (await world.subscription(ann)).subscriptionTier]).toEqual(['canceled', 'PRO']);
    await world.deliverAll();
    expect(await world.subscription(ann)).toBeNull();
  });

  test('a refund: asked for again it is told, and the money went once [BI32]', async () => {
    const { ann } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const refund = (client: Client) => client.post('/billing/refund-charges', { chargeIds: [id] });
    await cutAt('POST /v1/refunds', ann, refund);
    expect((await refund(ann.client)).body).toEqual({ refunded: [id], failed: [] });
    expect(world.processor.charges.find((charge) => charge.id === id)!.amount_refunded).toBe(2_900);
    expect(await world.audits(ann.orgId)).toContain('billing.charge_refunded');
  });

  test('the card check of a trial: the next delivery has it, and 1 USD was held once [BI54]', async () => {
    const ann = await world.signUp();
    const page = pageOf(await order(ann.client, 'PRO'));
    const before = world.processor.intents.size;
    world.processor.pay(page.id);
    const event = world.processor.told.at(-2)!;
    await cutAt('POST /v1/payment_intents', ann, (client) => world.processor.deliver(client.address, event));
    expect(await world.subscription(ann)).toBeNull();
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ isTrial: true });
    expect([...world.processor.intents.values()].slice(before)).toMatchObject([{ status: 'canceled' }]);
  });
});

test('while the processor is away a sweep waits for it once, and the next ones do all that was left', async () => {
  const orgs = [await paying(), await paying(), await paying()];
  for (const { ann, remote } of orgs)
    await world.sql`insert into payment_tasks (id, org_id, kind, subscription_id) values (${newId()}, ${ann.orgId}, 'sync', ${remote.id})`;
  const left = () =>
    world.sql<
      { failed: boolean }[]
    >`select last_error is not null as failed from payment_tasks where org_id = any(${orgs.map(({ ann }) => ann.orgId)}::uuid[])`;
  for (let n = 0; n < 9; n++) world.processor.fail('GET /v1/subscriptions/:id'); // three for each, as often as the SDK asks
  await world.settled();
  expect((await left()).map(({ failed }) => failed).toSorted()).toEqual([false, false, true]);
  for (let n = 0; n < 3; n++) {
    await world.sql`update payment_tasks set due_at = now()`;
    await world.settled();
  }
  expect(await left()).toEqual([]);
});

describe('what is in the way of one organization', () => {
  test('keeps no other from the end of its grace period [S80]', async () => {
    const { ann } = await paying();
    const { ann: bob } = await paying();
    const name = `poison_${newId().replaceAll('-', '')}`;
    await world.sql.unsafe(`
      create function ${name}() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
      create trigger ${name} before update on subscriptions for each row when (new.org_id = '${ann.orgId}') execute function ${name}();`);
    const end = (orgId: string, days: number) => world.sql`
      update subscriptions set grace_period_end = now() - ${days}::float8 * interval '1 day', grace_due_at = now() - ${days}::float8 * interval '1 day' where org_id = ${orgId}`;
    await world.sql.unsafe(`alter table subscriptions disable trigger ${name}`);
    await end(ann.orgId, 2); // comes first
    await end(bob.orgId, 1);
    await world.sql.unsafe(`alter table subscriptions enable trigger ${name}`);
    await world.settled();
    const lapsed = async () => (await world.sql<{ org: string }[]>`select org_id as org from subscriptions where lapsed`).map(({ org }) => org);
    expect(await lapsed()).toEqual([bob.orgId]);
    await world.sql.unsafe(`drop function ${name} cascade`);
    await world.settled();
    expect((await lapsed()).toSorted()).toEqual([ann.orgId, bob.orgId].toSorted());
  });

  test('a trial that should be over and is not is asked after once an hour', async () => {
    const ann = await world.signUp();
    await world.buy(ann);
    const before = world.processor.count('GET /v1/subscriptions/:id');
    await world.sql`update subscriptions set trial_ends_at = now() - interval '2 hours', updated_at = now() - interval '2 hours' where org_id = ${ann.orgId}`;
    world.processor.change([...world.processor.subscriptions.keys()].at(-1)!, { trial_end: Math.floor(Date.now() / 1000) - 7_200 });
    world.skip();
    for (let n = 0; n < 5; n++) await world.settled();
    expect(world.processor.count('GET /v1/subscriptions/:id')).toBe(before + 1);
  });
});

test('what is owed is given up at the processor, or paid elsewhere, of which no event is heard: the grace period ends [S220]', async () => {
  const { ann, remote } = await paying();
  world.processor.setCard(remote.id, false);
  world.processor.renew(remote.id);
  await world.deliverAll();
  expect((await world.subscription(ann)).gracePeriodEnd).not.toBeNull();
  world.processor.advance(86_400);
  world.processor.change(remote.id, { status: 'active' });
  await world.deliverAll();
  expect(await world.subscription(ann)).toMatchObject({ gracePeriodEnd: null, subscriptionTier: 'PRO' });
});

test('odd numbers of packs at the processor are read as what they can be, and names that are no charges are unknown [BI55, S68]', async () => {
  const { ann } = await paying();
  const remote = await world.buyPacks(ann, 'channel', 3);
  for (const [quantity, packs] of [
    [0, 0],
    [-5, 0],
    [2.5, 2],
    [9_000_000_000, 1_000_000],
    [4, 4],
  ] as const) {
    remote.items.data[0]!.quantity = quantity;
    world.processor.advance(1);
    world.processor.change(remote.id, {});
    await world.deliverAll();
    expect((await world.subscription(ann)).extraChannels).toBe(packs);
  }
  const ids = ['..', '.', 'search', 'ch_1/refunds', 'é'];
  const { status, body } = await ann.client.post('/billing/refund-charges', { chargeIds: ids });
  expect({ status, body }).toEqual({ status: 200, body: { refunded: [], failed: ids.map((id) => ({ id, reason: 'There is no such charge' })) } });
});

test('what was bought, and of which no event ever came, is read from the processor when it is asked for again, or a day later [S64]', async () => {
  const [ann, bob] = [await world.signUp(), await world.signUp()];
  for (const { client } of [ann, bob]) world.processor.pay(pageOf(await order(client, 'PRO')).id);
  world.skip();
  expect((await order(ann.client, 'PRO')).status).toBe(409);
  await world.settled();
  expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', isTrial: true });

  expect(await world.subscription(bob)).toBeNull();
  await world.sql`update payment_checkouts set created_at = now() - interval '26 hours' where org_id = ${bob.orgId}`;
  for (let n = 0; n < 2; n++) await world.settled();
  expect(await world.subscription(bob)).toMatchObject({ subscriptionTier: 'PRO', isTrial: true });
  const [checkout] = await world.sql`select done_at is not null as done, dropped_at from payment_checkouts where org_id = ${bob.orgId}`;
  expect(checkout).toEqual({ done: true, dropped_at: null });
});

test('two hosts that hear the events of a life at once, in any order and of days ago, apply each once [BI51, S78]', async () => {
  await using other = await testApp({ sql: world.sql, env: WITH_BILLING, paymentsServer: world.processor.url });
  const { ann, remote } = await paying('TEAM');
  const from = world.processor.told.length;
  await order(ann.client, 'PRO');
  world.processor.renew(remote.id);
  world.processor.advance(3 * 86_400);
  world.processor.setCard(remote.id, false);
  world.processor.renew(remote.id);
  world.processor.advance(2 * 86_400);
  world.processor.setCard(remote.id, true);
  world.processor.collect(remote.id);
  const events = world.processor.told.slice(from);
  world.skip();
  const answers = await Promise.all(events.toReversed().flatMap((event) => [world.deliver(event), world.processor.deliver(other.address, event)]));
  for (const { status } of answers) expect(status).toBe(200);
  for (const event of events) expect(await world.sql`select outcome from payment_events where id = ${event.id}`).toHaveLength(1);
  await Promise.all([world.settled(), other.context.payments.sweep(100)]);
  await world.deliverAll();
  expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', pendingTier: null, gracePeriodEnd: null, totalChannels: 10 });
  expect((await world.audits(ann.orgId)).filter((action) => action === 'billing.plan_changed')).toHaveLength(2); // wished for, and begun
});
