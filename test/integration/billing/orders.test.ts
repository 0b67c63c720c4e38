import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Told } from '../../support/peers/payment-processor.ts';
import { isFull, note } from '../../support/processes/chaos.ts';
import { Random } from '../../support/random.ts';
import { type OpenPayments, openPayments } from '../../support/worlds/payments.ts';

// The events of a subscription, in each order in which they can come and more than once: what they leave is what they
// leave in the order in which they happened.

/** Lives of so many events come in each of their orders; longer ones in drawn orders. */
const IN_EACH_ORDER = isFull ? 6 : 4;
const DRAWN = isFull ? 1_000 : 40;
const REPEATS = 20;
/** In each so-manieth order all events come twenty times at once, else twice. */
const REPEATED_EVERY = 8;
const BY = { userId: null, impersonatorId: null, ip: null };

let world: OpenPayments;
beforeAll(async () => (world = await openPayments()));
afterAll(() => world[Symbol.asyncDispose]());

type Act = (processor: OpenPayments['processor'], id: string) => unknown;
const broken: Act = (processor, id) => processor.setCard(id, false);
const mended: Act = (processor, id) => processor.setCard(id, true);
const renewed: Act = (processor, id) => processor.renew(id);
const collected: Act = (processor, id) => processor.collect(id);
const ended: Act = (processor, id) => processor.end(id);
/** What happens to a subscription after it was bought. */
const LIVES: Record<string, readonly Act[]> = {
  renewed: [renewed],
  'renewed twice': [renewed, renewed],
  'not paid': [broken, renewed],
  'paid late': [broken, renewed, mended, collected],
  ended: [renewed, ended],
  'paid late and ended': [broken, renewed, mended, collected, renewed, ended],
};

/** A new organization that lives so, and the events of it, none of which was delivered. */
async function live(acts: readonly Act[]): Promise<{ orgId: string; events: Told[] }> {
  const { db, payments, processor } = world;
  const orgId = newId();
  await db.sql`insert into organizations (id, name, allow_trial) values (${orgId}, 'Acme', false)`;
  const ordered = await payments.subscribe(orgId, { ...BY, userId: orgId }, { tier: 'PRO', period: 'MONTHLY' });
  if (!('url' in ordered)) throw new Error('no page');
  const from = processor.told.length;
  const { id } = processor.pay(ordered.url.split('/').at(-1)!);
  for (const act of acts) {
    processor.advance(60);
    act(processor, id);
  }
  return { orgId, events: processor.told.slice(from) };
}
const receive = ({ text }: Told) => world.payments.receive(Buffer.from(text), world.processor.sign(text));

/**
 * Delivers events in this order, each so often at once, and all of them once more. Answers what they have left, and what
 * came of it more than once.
 */
async function leftBy(orgId: string, events: readonly Told[], times: number) {
  const twice: string[] = [];
  for (const event of events) {
    const answers = await Promise.all(Array.from({ length: times }, () => receive(event)));
    if (answers.filter(({ ignored }) => !ignored).length > 1) twice.push(event.type);
  }
  await world.payments.sweep(100);
  const left = await leftOf(orgId);
  for (const event of events) await receive(event);
  await world.payments.sweep(100);
  expect(await leftOf(orgId)).toEqual(left);
  const { acts, ...row } = left;
  return { twice: [...twice, ...acts.filter((act, n) => acts.indexOf(act) !== n)], ...row };
}
async function leftOf(orgId: string) {
  const { sql } = world.db;
  const subscriptions = await sql`
    select tier, period, total_channels, pending_tier, is_trial, lapsed, cancel_at,
      grace_period_end is not null as in_grace
    from subscriptions
    where org_id = ${orgId}`;
  const acts = await sql<{ action: string }[]>`
    select action from audit_log where org_id = ${orgId} and action = 'billing.subscribed'`;
  const { limits } = await world.world.billing.usage(orgId);
  return {
    subscriptions: [...subscriptions],
    channels: limits.channel.effective,
    acts: acts.map(({ action }) => action),
  };
}

function* ordersOf<T>(list: readonly T[]): Generator<T[]> {
  if (list.length === 0) yield [];
  for (const [n, first] of list.entries())
    for (const rest of ordersOf(list.filter((_, at) => at !== n))) yield [first, ...rest];
}
const drawn = <T>(list: readonly T[], random: Random): T[] => {
  const left = [...list];
  return Array.from(list, () => left.splice(random.below(left.length), 1)[0]!);
};

test.each(Object.entries(LIVES))(
  `events of a subscription that is %s leave the same in every order, each with one effect however often it comes [R9]`,
  async (_, acts) => {
    const first = await live(acts);
    const once = await leftBy(first.orgId, first.events, 1);
    const places = first.events.map((__, n) => n);
    const random = new Random(1, 'orders');
    const orders =
      places.length <= IN_EACH_ORDER
        ? ordersOf(places)
        : Array.from({ length: DRAWN }, () => drawn(places, random)).values();
    let count = 0;
    for (const order of orders) {
      const { orgId, events } = await live(acts);
      const times = count++ % REPEATED_EVERY === 0 ? REPEATS : 2;
      const ordered = order.map((n) => events[n]!);
      expect([order, await leftBy(orgId, ordered, times)]).toEqual([order, once]);
    }
    note({ events: places.length, orders: count });
  },
  86_400_000,
);
