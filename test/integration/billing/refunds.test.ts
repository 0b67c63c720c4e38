import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SignedUp } from '../../support/worlds/app.ts';
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

test('a charge whose rest was credited by another period of the plan is not given back, but by a super-admin [S68]', async () => {
  const { ann } = await paying('AGENCY', 'YEARLY');
  const [{ id }] = (await ann.client.get('/billing/charges')).body;
  const refund = async () => (await ann.client.post('/billing/refund-charges', { chargeIds: [id] })).body;
  world.processor.advance(60);
  expect((await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'AGENCY' })).status).toBe(200);
  await world.deliverAll();
  expect(await refund()).toEqual({ refunded: [], failed: [{ id, reason: expect.stringContaining('credited') }] });
  expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'AGENCY', period: 'MONTHLY' });
  await world.sql`update users set is_super_admin = true where id = ${ann.userId}`;
  expect((await refund()).refunded).toEqual([id]);
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

  test('credits nothing of a period that is still owed', async () => {
    const { ann, packs, back, again } = await withPacks();
    world.processor.setCard(packs.id, false);
    world.processor.renew(packs.id);
    await world.deliverAll();
    expect(packs.status).toBe('past_due');
    expect((await ann.client.post('/billing/cancel-subscription')).status).toBe(200);
    await again();
    expect(packs.status).toBe('canceled');
    expect(back()).toEqual({ refunded: 0, credited: 0 });
  });

  test('credits no unused packs when both charges are refunded', async () => {
    const { packs, ofPlan, ofPacks, back, refund, again } = await withPacks();
    expect(await refund(ofPlan, ofPacks)).toEqual({ refunded: [ofPlan, ofPacks], failed: [] });
    await again();
    expect(packs.status).toBe('canceled');
    expect(back()).toEqual({ refunded: 4_800, credited: 0 });
  });

  test('ends packs alone with a refund of their charge, and no plan [S68]', async () => {
    const { ann, plan, packs, ofPacks, back, refund, again } = await withPacks();
    expect(await refund(ofPacks)).toEqual({ refunded: [ofPacks], failed: [] });
    await again();
    expect([packs.status, plan.status]).toEqual(['canceled', 'active']);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO', extraChannels: 0 });
    expect(back()).toEqual({ refunded: 1_900, credited: 0 });
  });

  test('ends packs with a refund of their charge on top of a plan for life', async () => {
    const { ann, packs, ofPacks, back, refund, again } = await withPacks();
    await world.sql`update subscriptions set is_lifetime = true, processor_id = null where org_id = ${ann.orgId}`;
    expect(await refund(ofPacks)).toEqual({ refunded: [ofPacks], failed: [] });
    await again();
    expect(packs.status).toBe('canceled');
    expect(await world.subscription(ann)).toMatchObject({ isLifetime: true, extraChannels: 0 });
    expect(back()).toEqual({ refunded: 1_900, credited: 0 });
  });

  test('leaves a plan alone with a refund of the charge of an earlier one', async () => {
    const { ann, ofPlan, back, refund, again } = await withPacks();
    expect((await ann.client.post('/billing/cancel-subscription')).status).toBe(200);
    await again();
    const { credited } = back();
    const plan = await world.buy(ann, 'TEAM');
    expect(await refund(ofPlan)).toEqual({ refunded: [ofPlan], failed: [] });
    await again();
    expect(plan.status).toBe('active');
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'TEAM' });
    expect(back()).toEqual({ refunded: 2_900, credited });
  });

  test('credits the period that runs when the charge of the one before is refunded', async () => {
    const { ann, plan, packs, ofPlan, back, refund, again } = await withPacks();
    world.processor.renew(plan.id);
    world.processor.renew(packs.id);
    await world.deliverAll();
    const aDayAgo = Math.floor(new Date().getTime() / 1000) - 86_400;
    plan.billing_cycle_anchor = aDayAgo;
    for (const charge of world.processor.charges.filter(({ id }) => id === ofPlan)) charge.created = aDayAgo;
    expect(await refund(ofPlan)).toEqual({ refunded: [ofPlan], failed: [] });
    await again();
    expect([plan.status, packs.status]).toEqual(['canceled', 'canceled']);
    expect(await world.subscription(ann)).toBeNull();
    expect(back()).toEqual({ refunded: 2_900, credited: 2_900 + 1_900 });
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

describe('a refund that the processor refuses for good', () => {
  const DISPUTED: unknown = expect.stringMatching(/^The payment processor refused it: Charge .* has been charged back/);

  test('ends no plan, is told and audited in its words, and uses up no right to a refund [S68]', async () => {
    const { ann, remote } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const charge = world.processor.charges.find((one) => one.id === id)!;
    charge.disputed = true;
    const refund = async (chargeId: string) =>
      (await ann.client.post('/billing/refund-charges', { chargeIds: [chargeId] })).body;
    for (let n = 0; n < 2; n++) expect(await refund(id)).toEqual({ refunded: [], failed: [{ id, reason: DISPUTED }] });
    await world.deliverAll();
    expect([remote.status, charge.amount_refunded]).toEqual(['active', 0]);
    expect(await world.subscription(ann)).toMatchObject({ subscriptionTier: 'PRO' });
    const notes = await world.sql`
      select detail from audit_log where org_id = ${ann.orgId} and action = 'billing.refund_refused'`;
    const note = { detail: { charge: id, reason: expect.stringContaining('has been charged back') } };
    expect(notes).toMatchObject([note, note]);
    expect(await world.audits(ann.orgId)).not.toContain('billing.charge_refunded');

    const other = `${id}x`;
    world.processor.charges.unshift({ ...charge, id: other, disputed: false });
    expect(await refund(other)).toEqual({ refunded: [other], failed: [] });
    expect(await world.subscription(ann)).toBeNull();
  });

  test('beside one that it takes: the plan ends, and the right is used up', async () => {
    const { ann, remote } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const charge = world.processor.charges.find((one) => one.id === id)!;
    const [taken, third] = [`${id}x`, `${id}y`];
    world.processor.charges.push({ ...charge, id: taken });
    charge.disputed = true;
    const refund = async (...chargeIds: string[]) =>
      (await ann.client.post('/billing/refund-charges', { chargeIds })).body;
    expect(await refund(id, taken)).toEqual({ refunded: [taken], failed: [{ id, reason: DISPUTED }] });
    await world.deliverAll();
    expect([remote.status, await world.subscription(ann)]).toEqual(['canceled', null]);
    world.processor.charges.push({ ...charge, id: third, disputed: false });
    expect((await refund(third)).failed).toEqual([{ id: third, reason: expect.stringContaining('within a year') }]);
  });

  test('because somebody else has given the money back ends the plan all the same', async () => {
    const { ann } = await paying();
    const [{ id }] = (await ann.client.get('/billing/charges')).body;
    const charge = world.processor.charges.find((one) => one.id === id)!;
    world.processor.meanwhile('GET /v1/subscriptions/:id', async () => {
      Object.assign(charge, { refunded: true, amount_refunded: charge.amount });
    });
    expect((await ann.client.post('/billing/refund-charges', { chargeIds: [id] })).body).toEqual({
      refunded: [id],
      failed: [],
    });
    expect(await world.subscription(ann)).toBeNull();
  });
});
