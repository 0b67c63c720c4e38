// oxlint-disable max-lines -- one product and one payment processor serve all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, SignJWT } from 'jose';
import { JWT_SECRET, type SignedUp } from '../../support/worlds/app.ts';
import type { Told } from '../../support/peers/payment-processor.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

let world: PayingApp;
beforeAll(async () => (world = await payingApp()));
afterAll(() => world[Symbol.asyncDispose]());

const OK = { status: 200, body: { ok: true } };
const IGNORED = { status: 200, body: { ok: true, ignored: true } };

/** Someone who has paid, and nothing of it was delivered yet. */
async function paid(billing = 'PRO') {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing });
  const from = world.processor.told.length;
  const remote = world.processor.pay([...world.processor.sessions.keys()].at(-1)!);
  world.skip();
  return { ann, remote, told: () => world.processor.told.slice(from) };
}
const created = ({ told }: { told(): Told[] }) => told().find(({ type }) => type === 'customer.subscription.created')!;
interface Odd {
  id: string;
  type: string;
  created: number;
  data: { object: Record<string, any> }; // oxlint-disable-line typescript/no-explicit-any -- an event is bent in many places
}
/** The event as somebody would have told it who is not we. */
const changed = ({ text }: Told, change: (event: Odd) => void): { text: string } => {
  const event = JSON.parse(text);
  change(event);
  return { text: JSON.stringify(event) };
};
const rows = async (ann: SignedUp) => {
  const { updatedAt: _, ...row } = (await world.subscription(ann)) ?? {};
  return row;
};

describe('authentication of events', () => {
  test('accepts only a signature by our key over these bytes, at most 300 s old; a bad one is 400 and nothing is written [BI48, S77]', async () => {
    const one = await paid();
    const event = created(one);
    const now = Math.floor(new Date().getTime() / 1000);
    const attempts: (Record<string, string | undefined> | { text: string })[] = [
      { 'stripe-signature': '' },
      { 'stripe-signature': 't=1,v1=00' },
      { 'stripe-signature': world.processor.sign(event.text, { secret: 'whsec_other' }) },
      { 'stripe-signature': world.processor.sign(event.text, { timestamp: now - 301 }) },
      { 'stripe-signature': world.processor.sign(`${event.text} `) },
      { 'stripe-signature': world.processor.sign(event.text).replace('v1=', 'v0=') },
    ];
    for (const signature of attempts)
      expect(await world.deliver(event, signature as Record<string, string>)).toMatchObject({
        status: 400,
        body: { statusCode: 400, code: 'invalid_request' },
      });
    expect(await world.deliver({ text: 'no json' })).toMatchObject({ status: 400 });
    expect(await world.deliver({ text: '{"object":"event"}' })).toMatchObject({ status: 400 });
    expect(await world.outcome(event)).toBeUndefined();
    expect(await world.subscription(one.ann)).toBeNull();
    const old = Math.floor(new Date().getTime() / 1000) - 270; // half a minute to arrive
    expect(
      await world.deliver(event, { 'stripe-signature': world.processor.sign(event.text, { timestamp: old }) }),
    ).toEqual(OK);
    expect(await world.subscription(one.ann)).toMatchObject({ subscriptionTier: 'PRO' });
  });

  test('refuses a signed event that cannot be kept, ignores one of a subscription that cannot be, and writes nothing [S77, X20]', async () => {
    const one = await paid();
    const change = (act: (event: Odd) => void) => world.deliver(changed(created(one), act));
    expect(await change((event) => (event.id = 'evt_\0'))).toMatchObject({ status: 400 });
    expect(await change((event) => (event.type = 'customer.\0'))).toMatchObject({ status: 400 });
    for (const time of [Number.MAX_SAFE_INTEGER, -99_999_999_999])
      expect(await change((event) => (event.created = time))).toMatchObject({ status: 400 });
    const objects: ((object: Odd['data']['object']) => void)[] = [
      (object) => (object['id'] = 'sub_\0'),
      (object) => (object['customer'] = 'cus_\0'),
      (object) => (object['metadata'].uniqueId = '\0'),
      (object) => (object['created'] = Number.MAX_SAFE_INTEGER),
      (object) => (object['trial_end'] = -99_999_999_999),
      (object) => (object['items'].data[0].current_period_end = Number.MAX_SAFE_INTEGER),
    ];
    for (const [n, act] of objects.entries())
      expect(
        await change((event) => {
          event.id = `${event.id}_${n}`;
          act(event.data.object);
        }),
      ).toEqual(IGNORED);
    expect(await world.outcome(created(one))).toBeUndefined();
    expect(await world.subscription(one.ann)).toBeNull();
  });

  test('ignores events of another service and attributes the two invoice events by their subscription [BI49, BI50, S77]', async () => {
    const one = await paid();
    const foreign = changed(created(one), (event) => {
      event.id = `${event.id}_foreign`;
      event.data.object['metadata'].service = 'another';
    });
    const nameless = changed(created(one), (event) => {
      event.id = `${event.id}_nameless`;
      event.data.object['metadata'] = {};
    });
    for (const event of [foreign, nameless]) expect(await world.deliver(event)).toEqual(IGNORED);
    expect(await world.subscription(one.ann)).toBeNull();
    await world.deliver(created(one));

    world.processor.setCard(one.remote.id, false);
    world.processor.renew(one.remote.id);
    const failed = one.told().find(({ type }) => type === 'invoice.payment_failed')!;
    const ofOther = changed(failed, (event) => {
      event.id = `${event.id}_foreign`;
      const details = event.data.object['parent'].subscription_details;
      details.subscription = 'sub_other';
      details.metadata = { service: 'another' };
    });
    expect(await world.deliver(ofOther)).toEqual(IGNORED);
    expect((await rows(one.ann))['gracePeriodEnd']).toBeNull();
    const older = changed(failed, (event) => {
      const { subscription } = event.data.object['parent'].subscription_details;
      delete event.data.object['parent'];
      // as older versions of the interface name it, without any metadata
      event.data.object['subscription'] = subscription;
      event.data.object['metadata'] = { service: 'another' };
    });
    expect(await world.deliver(older)).toEqual(OK);
    expect((await rows(one.ann))['gracePeriodEnd']).not.toBeNull();
  });

  test('answers 200 to an unknown type, customer or plan and ignores it [S77]', async () => {
    const one = await paid();
    const odd = [
      (event: Odd) => (event.type = 'customer.created'),
      (event: Odd) => {
        event.data.object['customer'] = 'cus_other';
        event.data.object['metadata'].uniqueId = 'x';
      },
      (event: Odd) => (event.data.object['metadata'].billing = 'GOLD'),
      (event: Odd) => (event.data.object['status'] = 'new'),
    ];
    for (const [n, change] of odd.entries()) {
      const event = changed(created(one), (given) => {
        given.id = `${given.id}_${n}`;
        given.data.object['id'] = `${given.data.object['id']}_${n}`;
        change(given);
      });
      expect(await world.deliver(event)).toEqual(IGNORED);
    }
    expect(await world.subscription(one.ann)).toBeNull();
    expect(await world.deliver(created(one))).toEqual(OK);
  });

  test('applies each of the five events by itself [BI47]', async () => {
    const one = await paid();
    const { ann, remote } = one;
    expect(await world.deliver(created(one))).toEqual(OK);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', gracePeriodEnd: null });
    /** Of what is told of this, only the one event is delivered. */
    const hears = async (type: string, happens: () => unknown) => {
      world.processor.advance(60);
      const from = world.processor.told.length;
      happens();
      expect(await world.deliver(world.processor.told.slice(from).find((told) => told.type === type)!)).toEqual(OK);
      world.skip();
      return world.subscription(ann);
    };
    const more = { metadata: { ...remote.metadata, billing: 'TEAM' } };
    expect(await hears('customer.subscription.updated', () => world.processor.change(remote.id, more))).toMatchObject({
      subscriptionTier: 'TEAM',
    });
    world.processor.setCard(remote.id, false);
    expect(await hears('invoice.payment_failed', () => world.processor.renew(remote.id))).toMatchObject({
      gracePeriodEnd: expect.any(String),
    });
    world.processor.setCard(remote.id, true);
    expect(await hears('invoice.payment_succeeded', () => world.processor.collect(remote.id))).toMatchObject({
      gracePeriodEnd: null,
    });
    expect(await hears('customer.subscription.deleted', () => world.processor.end(remote.id))).toBeNull();
  });

  test('applies an event with any cookies and without a CSRF token [BI39]', async () => {
    const [eve, gone] = [await world.signUp(), await world.signUp()];
    const auth = ({ client }: SignedUp) => client.cookies.get('auth')!;
    await gone.client.post('/user/logout');
    const seconds = Math.floor(new Date().getTime() / 1000);
    const late = await new SignJWT({ ...decodeJwt(auth(eve)), iat: seconds - 7_200, exp: seconds - 3_600 })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(new TextEncoder().encode(JWT_SECRET));
    const kinds: Record<string, (ann: SignedUp) => Record<string, string>> = {
      none: () => ({}),
      'of an owner': (ann) => ({ cookie: `auth=${auth(ann)}; csrf_token=${ann.client.csrf}` }),
      'of an owner, with another token': (ann) => ({
        cookie: `auth=${auth(ann)}; csrf_token=${ann.client.csrf}`,
        'x-csrf-token': eve.client.csrf!,
      }),
      'of another organization': () => ({ cookie: `auth=${auth(eve)}; csrf_token=${eve.client.csrf}` }),
      'of a session that has ended': () => ({ cookie: `auth=${auth(gone)}; csrf_token=${eve.client.csrf}` }),
      expired: () => ({ cookie: `auth=${late}; csrf_token=${eve.client.csrf}` }),
      broken: () => ({ cookie: 'auth=x; csrf_token=x; refresh=x' }),
    };
    for (const [kind, headers] of Object.entries(kinds)) {
      const one = await paid();
      const event = created(one);
      expect([
        kind,
        await world.deliver(event, { ...headers(one.ann), 'stripe-signature': world.processor.sign(event.text) }),
      ]).toEqual([kind, OK]);
      expect(await world.subscription(one.ann)).toMatchObject({ subscriptionTier: 'PRO' });
    }
  });

  test('limits an address to 6,000 events an hour [S17]', async () => {
    const answer = await fetch(`${world.app.address}/api/payments`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'x',
    });
    expect(answer.status).toBe(400);
    expect(Number(answer.headers.get('x-ratelimit-limit'))).toBe(6_000_000); // a thousand times as wide in tests
    expect(await world.app.client().post('/payments')).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
    expect(await world.app.client().post('/payments', 'x'.repeat(1_000_001))).toMatchObject({ status: 413 });
  });
});

describe('idempotency of events', () => {
  test('an event creates the subscription from metadata: tier, period, checkout id and channels of the plan [BI5, BI7, BI8, BI9, BI52, BI53, S61]', async () => {
    const one = await paid('TEAM');
    expect(await world.deliver(created(one))).toEqual(OK);
    const body = await world.subscription(one.ann);
    expect(body).toEqual({
      id: expect.any(String),
      organizationId: one.ann.orgId,
      subscriptionTier: 'TEAM',
      period: 'MONTHLY',
      identifier: one.remote.metadata['uniqueId'],
      totalChannels: 30,
      extraStorage: 0,
      extraVideoExports: 0,
      extraChannels: 0,
      extraTeamSeats: 0,
      extraPosts: 0,
      extraBrandKits: 0,
      extraWebhooks: 0,
      extraCompetitors: 0,
      limitOverrides: {},
      pendingTier: null,
      gracePeriodEnd: null,
      isLifetime: false,
      isTrial: false,
      trialEndsAt: null,
      cancelAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      deletedAt: null,
    });
    expect((await one.ann.client.get('/billing')).body).toMatchObject({
      subscription: body,
      limits: { channel: { plan: 30, effective: 30 } },
      billingEnabled: true,
    });
    await expect(
      world.sql`
        insert into subscriptions
        select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid()))).*
        from subscriptions s
        where org_id = ${one.ann.orgId}`,
    ).rejects.toThrow(/subscriptions_of_org/);
  });

  test('twenty concurrent deliveries of one event have one effect, and so has a repeat a day later [BI51]', async () => {
    const one = await paid();
    const answers = await Promise.all(Array.from({ length: 20 }, () => world.deliver(created(one))));
    expect(answers.filter(({ body }) => body['ignored'] === undefined)).toHaveLength(1);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const before = await world.subscription(one.ann);
    expect(await world.deliver(created(one))).toEqual(IGNORED);
    expect(await world.subscription(one.ann)).toEqual(before);
    expect(await world.audits(one.ann.orgId)).toEqual(['billing.checkout_opened', 'billing.subscribed']);
  });

  test('two different contents with one id: only one of them is applied', async () => {
    const one = await paid();
    const other = changed(created(one), (event) => (event.data.object['metadata'].billing = 'AGENCY'));
    const answers = await Promise.all([world.deliver(created(one)), world.deliver(other)]);
    expect(answers.filter(({ body }) => body['ignored'])).toHaveLength(1);
    expect(await world.audits(one.ann.orgId)).toEqual(['billing.checkout_opened', 'billing.subscribed']);
  });
});

describe('the order of events', () => {
  test('an event older than the last applied one is recorded and not applied [S78]', async () => {
    const one = await paid();
    world.processor.advance(10);
    const early = created(one);
    world.processor.change(one.remote.id, { metadata: { ...one.remote.metadata, billing: 'AGENCY' } });
    const late = one.told().at(-1)!;
    expect(await world.deliver(late)).toEqual(OK);
    expect(await world.deliver(early)).toEqual(OK);
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'AGENCY' });
    expect(await world.outcome(early)).toBe('outdated');
    await world.settled();
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'AGENCY' });
  });

  test('an ended subscription stays ended, whatever arrives late', async () => {
    const one = await paid();
    world.processor.advance(100);
    world.processor.change(one.remote.id, {});
    world.processor.end(one.remote.id);
    const [first, , updated, deleted] = one.told();
    for (const event of [deleted!, first!, updated!]) expect(await world.deliver(event)).toEqual(OK);
    expect(await world.subscription(one.ann)).toBeNull();
    await world.settled();
    expect(await world.subscription(one.ann)).toBeNull();
  });

  test('the paid invoice of a period before the downgrade request does not start it [BI23]', async () => {
    const one = await paid('TEAM');
    await world.deliver(created(one));
    world.processor.renew(one.remote.id);
    const lateInvoice = one.told().at(-1)!; // delayed by days
    await world.deliver(one.told().at(-2)!);
    world.processor.advance(200);
    await one.ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'STARTER' });
    await world.deliver(lateInvoice);
    await world.settled();
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'TEAM', pendingTier: 'STARTER' });
    world.processor.renew(one.remote.id);
    await world.deliverAll();
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'STARTER', pendingTier: null });
  });

  test('a downgrade requested before the events of a new period arrive begins with the next one [BI23]', async () => {
    const one = await paid('TEAM');
    await world.deliver(created(one));
    world.processor.renew(one.remote.id);
    world.processor.advance(200);
    await one.ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'STARTER' });
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'TEAM', pendingTier: 'STARTER' });
    await world.deliverAll();
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'TEAM', pendingTier: 'STARTER' });
    world.processor.renew(one.remote.id);
    await world.deliverAll();
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'STARTER', pendingTier: null });
  });

  test('an event of a state before our own change does not undo it, and later events apply', async () => {
    const one = await paid();
    await world.deliver(created(one));
    world.processor.change(one.remote.id, {});
    const old = one.told().at(-1)!;
    await one.ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'AGENCY' });
    await world.deliver(old);
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'AGENCY' });
    await world.settled();
    expect(await rows(one.ann)).toMatchObject({ subscriptionTier: 'AGENCY' });
    world.processor.end(one.remote.id);
    await world.deliver(one.told().at(-1)!);
    await world.settled();
    expect(await world.subscription(one.ann)).toBeNull();
  });

  test('all orders of the six events of a subscription end in the same state, each delivered twice [BI51, S78]', async () => {
    const orders = permutations([0, 1, 2, 3, 4, 5]);
    expect(orders).toHaveLength(720);
    const ends = new Set<string>();
    for (const order of sampled(orders, 72)) {
      const orgId = await world.bareOrg();
      const from = world.processor.told.length;
      const one = {
        remote: world.processor.pay(await world.pageOf(orgId, 'TEAM')),
        told: () => world.processor.told.slice(from),
      };
      for (const billing of ['PRO', 'AGENCY'] as const) {
        world.processor.advance(70);
        world.processor.change(one.remote.id, { metadata: { ...one.remote.metadata, billing } });
      }
      world.processor.setCard(one.remote.id, false);
      world.processor.renew(one.remote.id);
      const told = one.told();
      expect(told).toHaveLength(6);
      for (const n of order) await Promise.all([world.deliver(told[n]!), world.deliver(told[n]!)]);
      await world.settled();
      const { tier, gracePeriodEnd, totalChannels } = (await world.app.context.payments.subscription(orgId))!;
      ends.add(JSON.stringify({ tier, totalChannels, owing: gracePeriodEnd !== null }));
    }
    expect([...ends]).toEqual([JSON.stringify({ tier: 'AGENCY', totalChannels: 100, owing: true })]);
  }, 1_800_000);
});

describe('cases found by the model of billing', () => {
  test('a plan that ends before its first event is known leaves no open page that blocks the next', async () => {
    const one = await paid();
    world.processor.end(one.remote.id);
    for (const event of one.told().toReversed()) await world.deliver(event);
    await world.settled();
    expect(await world.subscription(one.ann)).toBeNull();
    expect((await one.ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' })).body).toEqual({
      url: expect.any(String),
    });
  });

  test('packs first reported after their plan has ended are cancelled too [S218]', async () => {
    const one = await paid();
    await world.deliver(created(one));
    await one.ann.client.post('/billing/addons', { type: 'channel', packs: 1 });
    const packs = world.processor.pay([...world.processor.sessions.keys()].at(-1)!);
    const late = one.told().slice(2);
    world.processor.end(one.remote.id);
    await world.deliver(one.told().at(-1)!);
    for (const event of late) await world.deliver(event);
    await world.settled();
    expect(packs.status).toBe('canceled');
    await world.deliverAll();
    expect(await world.subscription(one.ann)).toBeNull();
  });

  test('a downgrade requested in a trial begins with the invoice that ends the trial [BI23]', async () => {
    const ann = await world.signUp();
    await world.buy(ann, 'TEAM');
    await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'STARTER' });
    expect((await ann.client.post('/billing/finish-trial')).status).toBe(200);
    await world.deliverAll();
    expect(await world.subscription(ann)).toMatchObject({
      subscriptionTier: 'STARTER',
      pendingTier: null,
      isTrial: false,
    });
    expect((await ann.client.get('/billing/charges')).body[0]).toMatchObject({ amount: 900 });
  });
});

describe('atomicity of events', () => {
  test('the effects of an event and its id are one commit: if one fails both do, and the next delivery applies both [BI51, S77]', async () => {
    const one = await paid();
    await world.sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`;
    await world.sql`
      create trigger refuse before insert on audit_log for each row
        when (new.action = 'billing.subscribed') execute function refuse()`;
    const stderr = process.stderr.write;
    process.stderr.write = () => true; // the app says what went wrong
    const failed = await world.deliver(created(one)).finally(() => (process.stderr.write = stderr));
    expect(failed.status).toBe(500);
    expect(await world.outcome(created(one))).toBeUndefined();
    expect(await world.subscription(one.ann)).toBeNull();
    await world.sql`drop trigger refuse on audit_log`;
    await world.sql`drop function refuse`;
    expect(await world.deliver(created(one))).toEqual(OK);
    expect(await world.subscription(one.ann)).toMatchObject({ subscriptionTier: 'PRO' });
  });

  test('calls to the processor are repeated after it was away', async () => {
    const one = await paid();
    await world.deliver(created(one));
    await one.ann.client.post('/billing/addons', { type: 'channel', packs: 1 });
    const packs = world.processor.pay([...world.processor.sessions.keys()].at(-1)!);
    await world.deliverAll();
    for (const event of one.told()) await world.deliver(event);
    await world.settled();
    for (let n = 0; n < 3; n++) world.processor.fail('DELETE /v1/subscriptions/:id');
    world.processor.end(one.remote.id);
    await world.deliver(one.told().at(-1)!);
    await world.settled();
    expect(await world.subscription(one.ann)).toBeNull();
    expect(packs.status).toBe('active');
    const [task] = await world.sql`
        select kind, attempts, last_error from payment_tasks where org_id = ${one.ann.orgId} and kind = 'cancel'`;
    expect(task).toMatchObject({ kind: 'cancel', attempts: 1, last_error: expect.stringContaining('does not answer') });
    await world.sql`update payment_tasks set due_at = now() where org_id = ${one.ann.orgId}`;
    await world.settled();
    expect(packs.status).toBe('canceled');
    expect(await world.sql`select 1 from payment_tasks where org_id = ${one.ann.orgId}`).toHaveLength(0);
  });
});

describe('two plans of one org', () => {
  test('the later one stays, in any order of events; the other is cancelled at the processor', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const one = await paid('PRO');
      world.processor.advance(5);
      const twin = world.processor.pay(
        [...world.processor.sessions.values()].find(({ id }) => {
          const session = world.processor.sessions.get(id)!;
          if (session.subscription !== one.remote.id) return false;
          session.status = 'open'; // as if two pages had been open
          return true;
        })!.id,
      );
      const both = one.told().filter(({ type }) => type === 'customer.subscription.created');
      for (const n of order) await world.deliver(both[n]!);
      await world.settled();
      await world.deliverAll();
      expect({ first: one.remote.status, second: twin.status }).toEqual({ first: 'canceled', second: 'active' });
      expect(await world.subscription(one.ann)).toMatchObject({ subscriptionTier: 'PRO' });
    }
  });
});

const permutations = (of: number[]): number[][] =>
  of.length < 2 ? [of] : of.flatMap((one, n) => permutations(of.toSpliced(n, 1)).map((rest) => [one, ...rest]));
/** Every n-th, so that all first elements are among them. */
const sampled = <T>(all: T[], many: number): T[] =>
  process.env['MODEL_COMMANDS'] ? all : all.filter((_, n) => n % (all.length / many) === 0);
