import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

let world: PayingApp;
beforeAll(async () => {
  world = await payingApp();
  await world.signUp(); // the first user of an instance is its super-admin
});
afterAll(() => world[Symbol.asyncDispose]());

/** A plan that was raised within its period: two charges paid for what runs, of 2,900 and 7,000 cents. */
async function raisedPlan() {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  const remote = await world.buy(ann, 'PRO');
  await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'TEAM' });
  await world.deliverAll();
  const charges = world.processor.charges.filter(({ customer }) => customer === remote.customer);
  const chargeOf = (cents: number) => charges.find(({ amount }) => amount === cents)!;
  const refund = async (...chargeIds: string[]) =>
    (await ann.client.post('/billing/refund-charges', { chargeIds })).body;
  /** What waits for the processor is done, at once. */
  const again = async () => {
    await world.sql`update payment_tasks set due_at = now() where org_id = ${ann.orgId}`;
    await world.deliverAll();
  };
  const back = () => ({
    refunded: world.processor.charges
      .filter(({ customer }) => customer === remote.customer)
      .reduce((sum, { amount_refunded: cents }) => sum + cents, 0),
    credited: world.processor.balances.get(remote.customer) ?? 0,
  });
  return { ann, remote, ofPlan: chargeOf(2_900), ofRise: chargeOf(7_000), refund, again, back };
}
const operator = ({ userId }: { userId: string }) =>
  world.sql`update users set is_super_admin = true where id = ${userId}`;

describe('a charge whose refund is refused for good', () => {
  test.each(['first', 'last'])(
    'is credited for the rest of the period when another charge of the plan goes back and ends it, refused %s [S68]',
    async (when) => {
      const { ann, remote, ofPlan, ofRise, refund, again, back } = await raisedPlan();
      ofPlan.isUnrefundable = true;
      world.processor.advance(15 * 86_400 - 1);
      const ids = when === 'first' ? [ofPlan.id, ofRise.id] : [ofRise.id, ofPlan.id];
      expect(await refund(...ids)).toMatchObject({ refunded: [ofRise.id], failed: [{ id: ofPlan.id }] });
      await again();
      expect(await world.subscription(ann)).toBeNull();
      expect(remote.status).toBe('canceled');
      const credited = Math.floor((2_900 * (15 * 86_400 + 1)) / (30 * 86_400));
      expect(back()).toEqual({ refunded: 7_000, credited });
      await again();
      expect(back()).toEqual({ refunded: 7_000, credited });
      await operator(ann);
      ofPlan.isUnrefundable = false;
      expect(await refund(ofPlan.id)).toEqual({
        refunded: [],
        failed: [{ id: ofPlan.id, reason: expect.stringContaining('credited') }],
      });
    },
  );

  test('is credited when the charge of an earlier period goes back and ends the plan', async () => {
    const { remote, ofPlan, refund, again, back } = await raisedPlan();
    world.processor.renew(remote.id);
    await world.deliverAll();
    const aDayAgo = Math.floor(new Date().getTime() / 1000) - 86_400;
    remote.billing_cycle_anchor = aDayAgo;
    ofPlan.created = aDayAgo;
    const renewed = world.processor.charges.find(({ amount }) => amount === 9_900)!;
    renewed.isUnrefundable = true;
    expect(await refund(ofPlan.id, renewed.id)).toMatchObject({ refunded: [ofPlan.id], failed: [{ id: renewed.id }] });
    await again();
    expect(remote.status).toBe('canceled');
    expect(back()).toEqual({ refunded: 2_900, credited: 9_900 });
  });

  test('is not credited where the bank has taken its money back', async () => {
    const { remote, ofPlan, ofRise, refund, again, back } = await raisedPlan();
    ofPlan.disputed = true;
    expect(await refund(ofPlan.id, ofRise.id)).toMatchObject({ refunded: [ofRise.id], failed: [{ id: ofPlan.id }] });
    await again();
    expect(remote.status).toBe('canceled');
    expect(back()).toEqual({ refunded: 7_000, credited: 0 });
  });
});

test('credits the rest of a charge that nobody takes back when another one of its plan goes back', async () => {
  const { remote, ofRise, refund, again, back } = await raisedPlan();
  world.processor.fail('POST /v1/credit_notes', 'after');
  world.processor.fail('POST /v1/credit_notes', 'error');
  expect(await refund(ofRise.id)).toEqual({ refunded: [ofRise.id], failed: [] });
  for (let n = 0; n < 3; n++) await again();
  expect(remote.status).toBe('canceled');
  expect(back()).toEqual({ refunded: 7_000, credited: 2_900 });
});

test('credits nothing of a plan whose charges all go back, and nothing twice by a code for life', async () => {
  const { ann, ofPlan, ofRise, refund, again, back } = await raisedPlan();
  for (let n = 0; n < 3; n++) world.processor.fail('POST /v1/refunds');
  await refund(ofPlan.id, ofRise.id); // the processor is away
  const by = { userId: ann.userId, impersonatorId: null, ip: null };
  const [code] = await world.app.context.payments.mintCodes(by, 1);
  expect((await ann.client.post('/billing/lifetime', { code })).status).toBe(200);
  await again();
  expect(back()).toEqual({ refunded: 9_900, credited: 0 });
});
