// oxlint-disable max-lines -- one product and one payment processor serve all cases
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

const order = (client: Client, billing: string, more = {}) =>
  client.post('/billing/subscribe', { period: 'MONTHLY', billing, ...more });
const pageOf = ({ body }: Answer) => world.processor.sessions.get(body.url.split('/').at(-1))!;
const customerOf = async ({ orgId }: SignedUp) =>
  (await world.sql<{ id: string }[]>`select customer_id as id from payment_customers where org_id = ${orgId}`)[0]!.id;
/** Someone who pays, without a trial. */
async function paying(billing = 'PRO') {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  return { ann, remote: await world.buy(ann, billing) };
}

describe('a processor error that repeats for the same key for a day', () => {
  test.each(['POST /v1/prices', 'POST /v1/customers', 'POST /v1/checkout/sessions'])(
    'at %s does not block a purchase: the next order gets its page [BI56, S64]',
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

  test('at the card check does not block a trial: the next delivery starts it [BI54, S77]', async () => {
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

  test('at a refund does not block it: a repeated request refunds once [BI32, S68]', async () => {
    const { ann } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const refund = () => ann.client.post('/billing/refund-charges', { chargeIds: [id] });
    world.processor.fail('POST /v1/refunds', 'error');
    expect((await refund()).status).toBe(503);
    for (let n = 0; n < 2; n++)
      expect(await refund()).toMatchObject({ status: 200, body: { refunded: [id], failed: [] } });
    expect(world.processor.charges.find((charge) => charge.id === id)!.amount_refunded).toBe(2_900);
  });
});

describe('a refund that ends its plan', () => {
  test.each(['DELETE /v1/subscriptions/:id', 'POST /v1/refunds'])(
    'completes without another request when %s fails',
    async (call) => {
      const { ann, remote } = await paying();
      const [{ id }] = (await ann.client.get('/billing/charges')).body;
      for (let n = 0; n < 3; n++) world.processor.fail(call);
      const { status } = await ann.client.post('/billing/refund-charges', { chargeIds: [id] });
      // a plan ends with the money, so not before it is back
      const subscription = await world.subscription(ann);
      if (call === 'POST /v1/refunds') expect([status, subscription?.subscriptionTier]).toEqual([503, 'PRO']);
      else expect([status, subscription]).toEqual([200, null]);
      await world.sql`update payment_tasks set due_at = now() where org_id = ${ann.orgId}`;
      await world.settled();
      expect([remote.status, await world.subscription(ann)]).toEqual(['canceled', null]);
      expect(world.processor.charges.find((charge) => charge.id === id)!.amount_refunded).toBe(2_900);
      expect((await world.audits(ann.orgId)).filter((action) => action === 'billing.charge_refunded')).toHaveLength(1);
      expect(await world.sql`select 1 from payment_tasks where org_id = ${ann.orgId}`).toHaveLength(0);
      expect((await ann.client.post('/billing/refund-charges', { chargeIds: [id] })).body).toEqual({
        refunded: [id],
        failed: [],
      });
    },
  );
});

describe('an order whose response is lost', () => {
  const lost = (call: string) => {
    for (let n = 0; n < 3; n++) world.processor.fail(call, 'after'); // as often as the SDK asks
  };

  test('is repeated by another member with other fields: one named customer and one payable page', async () => {
    const [ann, bob] = [await world.signUp(), await world.signUp()];
    await world.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'owner')`;
    expect((await bob.client.post('/user/change-org', { id: ann.orgId })).status).toBe(200);
    const before = world.processor.customers.size;
    lost('POST /v1/customers');
    expect((await order(ann.client, 'PRO')).status).toBe(503);
    expect((await order(bob.client, 'PRO')).status).toBe(200);
    expect([...world.processor.customers.values()].slice(before)).toMatchObject([
      { metadata: { orgId: ann.orgId }, name: 'Acme Ltd', email: bob.email },
    ]);

    const eve = await world.signUp();
    lost('POST /v1/checkout/sessions');
    expect((await order(eve.client, 'PRO', { utm: 'letter' })).status).toBe(503);
    const answer = await order(eve.client, 'PRO', { utm: 'poster' });
    expect(answer.status).toBe(200);
    expect(pageOf(answer).metadata['utm']).toBe('poster');
  });
});

describe('a change whose response is lost', () => {
  const lost = () => {
    for (let n = 0; n < 3; n++) world.processor.fail('POST /v1/subscriptions/:id', 'after');
  };

  test('is reported as failed although it is done: events apply it, and a repeat changes nothing more [BI33, BI37, S66, S69, S72]', async () => {
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
    expect((await ann.client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount)).toEqual([
      2_700, 2_900, 1_800,
    ]);
  });

  test('of the end of a trial charges once, when it is asked for again before any event, or twice at once [BI37]', async () => {
    const finish = ({ client }: SignedUp) => client.post('/billing/finish-trial');
    const amounts = async ({ client }: SignedUp) =>
      (await client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount) as number[];
    const [ann, bob] = [await world.signUp(), await world.signUp()];
    await world.buy(ann);
    lost();
    expect((await finish(ann)).status).toBe(503);
    expect((await finish(ann)).body).toEqual({ finish: true });
    expect(await world.subscription(ann)).toMatchObject({ isTrial: false });

    await world.buy(bob);
    const answers: unknown[] = [];
    world.processor.meanwhile('POST /v1/subscriptions/:id', async () => void answers.push((await finish(bob)).body));
    answers.push((await finish(bob)).body);
    expect(answers).toEqual([{ finish: true }, { finish: true }]);
    await world.deliverAll();
    expect([await amounts(ann), await amounts(bob)]).toEqual([[2_900], [2_900]]);
  });

  test('of a coupon applies it once [DE7, S74]', async () => {
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
    expect(await apply()).toMatchObject({ status: 200, body: { success: true } });
    expect(remote.discounts).toEqual([given]);
    remote.discounts = []; // it ends, and is not given twice
    expect((await ann.client.get('/billing/check-discount')).body).toEqual({ offerCoupon: false });
    expect(await apply()).toMatchObject({ status: 200, body: { success: true } });
    expect(remote.discounts).toEqual([]);
    const noted = await other.sql`
      select from audit_log where org_id = ${ann.orgId} and action = 'billing.discount_applied'`;
    expect(noted).toHaveLength(1);
  });
});

describe('a subscription whose metadata at the processor names no plan', () => {
  const CALL = 'POST /v1/subscriptions/:id';
  /** Somebody on PRO, whose plan was misspelled at the processor by hand. */
  async function misspelled() {
    const { ann, remote } = await paying();
    world.processor.advance(60);
    world.processor.change(remote.id, { metadata: { ...remote.metadata, billing: 'pro' } });
    await world.deliverAll();
    world.processor.advance(60);
    return { ann, remote };
  }
  const mend = (remote: { id: string; metadata: Record<string, string> }) => {
    world.processor.advance(60);
    world.processor.change(remote.id, { metadata: { ...remote.metadata, billing: 'PRO' } });
    return world.deliverAll();
  };

  test('keeps the plan that is paid for, whatever is read of it [BI28, S70]', async () => {
    const { ann, remote } = await misspelled();
    const packs = await world.buyPacks(ann, 'channel', 1);
    for (const body of [{ feedback: 'too dear' }, { feedback: '', undo: true }]) {
      const calls = world.processor.count(CALL);
      expect(await ann.client.post('/billing/cancel', body)).toMatchObject({
        status: 502,
        body: { code: 'provider_failed', message: expect.stringContaining('made the change') },
      });
      await world.deliverAll();
      expect(world.processor.count(CALL)).toBe(calls + 1);
      expect(remote.cancel_at_period_end).toBe(!('undo' in body));
      expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', extraChannels: 1 });
    }
    expect([remote.status, packs.status]).toEqual(['active', 'active']);
    expect(await world.sql`select 1 from payment_tasks where org_id = ${ann.orgId}`).toHaveLength(0);
    await ann.client.post('/billing/cancel', { feedback: 'too dear' });
    await mend(remote);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', cancelAt: expect.any(String) });
  });

  test('ends the plan when it ends at the processor [BI26, BI28]', async () => {
    const { ann, remote } = await misspelled();
    world.processor.end(remote.id);
    await world.deliverAll();
    expect(await world.subscription(ann)).toBeNull();
  });
});

test('a downgrade waits for the paid invoice of its first period, through the grace period and beyond [BI21, BI23, S220]', async () => {
  const { ann, remote } = await paying('TEAM');
  await order(ann.client, 'PRO');
  world.processor.setCard(remote.id, false);
  world.processor.renew(remote.id);
  await world.deliverAll();
  expect(await world.subscription(ann)).toMatchObject({
    subscriptionTier: 'TEAM',
    pendingTier: 'PRO',
    gracePeriodEnd: expect.any(String),
    totalChannels: 30,
  });
  await world.passDays(ann.orgId, 8);
  await world.settled();
  expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', pendingTier: 'PRO' });
  world.processor.setCard(remote.id, true);
  world.processor.collect(remote.id);
  await world.deliverAll();
  expect(await world.subscription(ann)).toMatchObject({
    subscriptionTier: 'PRO',
    pendingTier: null,
    gracePeriodEnd: null,
    totalChannels: 10,
  });
});

test('concurrent orders for different plans leave one payable page [BI14]', async () => {
  for (let round = 0; round < 10; round++) {
    const ann = await world.signUp();
    const answers = await Promise.all(
      ['STARTER', 'PRO', 'TEAM', 'AGENCY', 'PRO', 'TEAM'].map((billing) => order(ann.client, billing)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(
      new Set(answers.some(({ status }) => status === 409) ? [200, 409] : [200]),
    );
    const customer = await customerOf(ann);
    const open = [...world.processor.sessions.values()].filter(
      (page) => page.customer === customer && page.status === 'open',
    );
    expect(open).toHaveLength(1);
    const last = answers.filter(({ status }) => status === 200).map(pageOf);
    expect(last).toContainEqual(open[0]);
  }
});

test('a page open when the organization is deleted buys nothing: a payment on it is cancelled at the processor', async () => {
  const ann = await world.signUp();
  const page = pageOf(await order(ann.client, 'PRO'));
  await world.sql`update organizations set deleted_at = now() where id = ${ann.orgId}`;
  const remote = world.processor.pay(page.id);
  await world.deliverAll();
  expect(await world.sql`select 1 from subscriptions where org_id = ${ann.orgId}`).toHaveLength(0);
  expect(remote.status).toBe('canceled');
});

test('an upgrade during a pending downgrade costs the difference to the paid plan, as previewed [BI19, BI20, S64]', async () => {
  const { ann } = await paying('TEAM');
  await order(ann.client, 'PRO');
  expect((await ann.client.post('/billing/prorate', { period: 'MONTHLY', billing: 'AGENCY' })).body.price).toBe(15_000);
  expect((await order(ann.client, 'AGENCY')).body.subscription).toMatchObject({
    subscriptionTier: 'AGENCY',
    pendingTier: null,
  });
  expect((await ann.client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount)).toEqual([
    15_000, 9_900,
  ]);
});

describe('a process killed between the call to the processor and the commit', () => {
  const PROGRAM = fileURLToPath(new URL('../../support/processes/scripts/paying-process.ts', import.meta.url));
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

  test.each(['POST /v1/customers', 'POST /v1/checkout/sessions'])(
    '%s: the next order has one customer and one page [S18]',
    async (call) => {
      const ann = await world.signUp();
      const before = { customers: world.processor.customers.size, sessions: world.processor.sessions.size };
      await cutAt(call, ann, (client) => order(client, 'TEAM'));
      expect((await order(ann.client, 'TEAM')).status).toBe(200);
      expect({ customers: world.processor.customers.size, sessions: world.processor.sessions.size }).toEqual({
        customers: before.customers + 1,
        sessions: before.sessions + 1,
      });
    },
  );

  test('a changed plan: its events apply it, and it is paid once [BI19]', async () => {
    const { ann } = await paying();
    await cutAt('POST /v1/subscriptions/:id', ann, (client) => order(client, 'TEAM'));
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM', totalChannels: 30 });
    expect((await order(ann.client, 'TEAM')).status).toBe(409);
    expect((await ann.client.get('/billing/charges')).body.map(({ amount }: { amount: number }) => amount)).toEqual([
      7_000, 2_900,
    ]);
  });

  test('an immediate cancellation: its event applies it [BI35, S70]', async () => {
    const { ann, remote } = await paying();
    await cutAt('DELETE /v1/subscriptions/:id', ann, (client) => client.post('/billing/cancel-subscription'));
    expect([remote.status, (await world.subscription(ann)).subscriptionTier]).toEqual(['canceled', 'PRO']);
    await world.deliverAll();
    expect(await world.subscription(ann)).toBeNull();
  });

  test('a refund: a repeat reports it, and the money is returned once [BI32]', async () => {
    const { ann } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const refund = (client: Client) => client.post('/billing/refund-charges', { chargeIds: [id] });
    await cutAt('POST /v1/refunds', ann, refund);
    expect((await refund(ann.client)).body).toEqual({ refunded: [id], failed: [] });
    expect(world.processor.charges.find((charge) => charge.id === id)!.amount_refunded).toBe(2_900);
    expect(await world.audits(ann.orgId)).toContain('billing.charge_refunded');
  });

  test('the card check of a trial: the next delivery completes it with one hold of 1 USD [BI54]', async () => {
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

test('a sweep waits once for an absent processor, and later ones do the remaining work', async () => {
  const orgs = [await paying(), await paying(), await paying()];
  for (const { ann, remote } of orgs)
    await world.sql`
      insert into payment_tasks (id, org_id, kind, subscription_id)
      values (${newId()}, ${ann.orgId}, 'sync', ${remote.id})`;
  const left = () =>
    world.sql<{ failed: boolean }[]>`
      select last_error is not null as failed
      from payment_tasks
      where org_id = any(${orgs.map(({ ann }) => ann.orgId)}::uuid[])`;
  // three for each, as often as the SDK asks
  for (let n = 0; n < 9; n++) world.processor.fail('GET /v1/subscriptions/:id');
  await world.settled();
  expect((await left()).map(({ failed }) => failed).toSorted()).toEqual([false, false, true]);
  for (let n = 0; n < 3; n++) {
    await world.sql`update payment_tasks set due_at = now()`;
    await world.settled();
  }
  expect(await left()).toEqual([]);
});

describe('a failure in one organization', () => {
  test('does not delay the end of the grace period of others [S80]', async () => {
    const { ann } = await paying();
    const { ann: bob } = await paying();
    const name = `poison_${newId().replaceAll('-', '')}`;
    await world.sql.unsafe(`
      create function ${name}() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
      create trigger ${name} before update on subscriptions for each row when (new.org_id = '${ann.orgId}') execute function ${name}();`);
    const end = (orgId: string, days: number) => world.sql`
      update subscriptions
      set grace_period_end = now() - ${days}::float8 * interval '1 day',
        grace_due_at = now() - ${days}::float8 * interval '1 day'
      where org_id = ${orgId}`;
    await world.sql.unsafe(`alter table subscriptions disable trigger ${name}`);
    await end(ann.orgId, 2); // comes first
    await end(bob.orgId, 1);
    await world.sql.unsafe(`alter table subscriptions enable trigger ${name}`);
    await world.settled();
    const lapsed = async () =>
      (await world.sql<{ org: string }[]>`select org_id as org from subscriptions where lapsed`).map(({ org }) => org);
    expect(await lapsed()).toEqual([bob.orgId]);
    await world.sql.unsafe(`drop function ${name} cascade`);
    await world.settled();
    expect((await lapsed()).toSorted()).toEqual([ann.orgId, bob.orgId].toSorted());
  });

  test('an overdue trial is queried at the processor once an hour', async () => {
    const ann = await world.signUp();
    await world.buy(ann);
    const before = world.processor.count('GET /v1/subscriptions/:id');
    await world.sql`
      update subscriptions
      set trial_ends_at = now() - interval '2 hours', updated_at = now() - interval '2 hours'
      where org_id = ${ann.orgId}`;
    world.processor.change([...world.processor.subscriptions.keys()].at(-1)!, {
      trial_end: Math.floor(Date.now() / 1000) - 7_200,
    });
    world.skip();
    for (let n = 0; n < 5; n++) await world.settled();
    expect(world.processor.count('GET /v1/subscriptions/:id')).toBe(before + 1);
  });
});

test('the grace period ends when the processor voids the invoice, or it is paid elsewhere without an event [S220]', async () => {
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

test('unusual pack quantities are read as valid ones, and foreign names are unknown charges [BI55, S68]', async () => {
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
  expect({ status, body }).toEqual({
    status: 200,
    body: { refunded: [], failed: ids.map((id) => ({ id, reason: 'There is no such charge' })) },
  });
});

test('a purchase without any event is read from the processor on a repeated order or a day later [S64]', async () => {
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
  const [checkout] =
    await world.sql`select done_at is not null as done, dropped_at from payment_checkouts where org_id = ${bob.orgId}`;
  expect(checkout).toEqual({ done: true, dropped_at: null });
});

test('two hosts apply each event of a subscription once, in any order and days late [BI51, S78]', async () => {
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
  const answers = await Promise.all(
    events.toReversed().flatMap((event) => [world.deliver(event), world.processor.deliver(other.address, event)]),
  );
  for (const { status } of answers) expect(status).toBe(200);
  for (const event of events)
    expect(await world.sql`select outcome from payment_events where id = ${event.id}`).toHaveLength(1);
  await Promise.all([world.settled(), other.context.payments.sweep(100)]);
  await world.deliverAll();
  expect(await world.subscription(ann)).toMatchObject({
    subscriptionTier: 'PRO',
    pendingTier: null,
    gracePeriodEnd: null,
    totalChannels: 10,
  });
  // wished for, and begun
  expect((await world.audits(ann.orgId)).filter((action) => action === 'billing.plan_changed')).toHaveLength(2);
});
