import { z } from 'zod';
import type { Database } from '../../../../src/platform/db/index.ts';
import { startPaymentProcessor, type Told } from '../../peers/payment-processor.ts';
import { WITH_BILLING } from '../../worlds/billing.ts';
import { type ActivationCodes, registerAt } from '../client.ts';
import type { Money } from '../history/shape.ts';
import { type Answered, insist } from './insist.ts';

// A payment processor with accounts that have the same history there, each of which is told to the product in another
// order, with events twice at once and once more at the end, all of them again until they are taken.

/** Takes the events of an account as they happened, backwards, and from the middle on. */
const ORDERS: readonly ((events: readonly Told[]) => readonly Told[])[] = [
  (events) => events,
  (events) => events.toReversed(),
  (events) => [...events.slice(3), ...events.slice(0, 3)],
];
const SECONDS_BETWEEN = 60;
/** Every second event comes twice at once. */
const TWICE = 2;

interface Payer {
  account: string;
  email: string;
  subscription: string;
  /** Of its history behind the beginning. */
  events: Told[];
}
type Deliveries = { id: string; answers: { status: number; isIgnored: boolean }[] };

export async function startPayments() {
  const processor = await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY });
  const payers: Payer[] = [];
  const heard = new Map<string, Deliveries>();
  let underWay: Promise<unknown> = Promise.resolve();

  function deliver(url: string, { id, text }: Told): Promise<void> {
    const one = heard.get(id) ?? { id, answers: [] };
    heard.set(id, one);
    return insist(
      `${url}/payments`,
      () => ({
        headers: { 'content-type': 'application/json', 'stripe-signature': processor.sign(text) },
        body: text,
      }),
      ({ status, body }: Answered) =>
        one.answers.push({ status, isIgnored: (body as { ignored?: true } | undefined)?.ignored === true }),
    );
  }
  /** What is told while something is done. */
  function toldOf(act: () => unknown): Told[] {
    const from = processor.told.length;
    act();
    return processor.told.slice(from);
  }
  async function tellAll(url: string, { events }: Payer, n: number): Promise<void> {
    const order = ORDERS[n]!(events);
    for (const [nth, event] of order.entries())
      await Promise.all(Array.from({ length: nth % TWICE === 0 ? 2 : 1 }, () => deliver(url, event)));
    for (const event of events.toReversed()) await deliver(url, event);
  }

  return {
    url: processor.url,
    env: WITH_BILLING,
    /** Signs up accounts that pay for a plan, and lets the product know that they do. */
    async open(url: string, sql: Database, codeTo: ActivationCodes): Promise<void> {
      const bought = await Promise.all(
        ORDERS.map(async (_, n) => {
          const { email, own } = await registerAt(url, `Pays ${n}`, codeTo);
          await sql`
            update organizations
            set allow_trial = false
            where id = (select m.org_id from memberships m join users u on u.id = m.user_id where u.email = ${email})`;
          const ordered = await own('/billing/subscribe', z.object({ url: z.string() }), {
            body: { billing: 'PRO', period: 'MONTHLY' },
          });
          return { email, page: ordered.url.split('/').at(-1)! };
        }),
      );
      for (const [n, { email, page }] of bought.entries()) {
        let subscription = '';
        for (const event of toldOf(() => (subscription = processor.pay(page).id))) await deliver(url, event);
        payers.push({ account: `Pays ${n}`, email, subscription, events: [] });
      }
    },
    /** Has everything happen to each account, and begins to tell of it. */
    begin(url: string): void {
      const acts: ((subscription: string) => unknown)[] = [
        (id) => (processor.setCard(id, false), processor.renew(id)),
        (id) => (processor.setCard(id, true), processor.collect(id)),
        (id) => processor.change(id, { metadata: { ...processor.subscriptions.get(id)!.metadata, billing: 'TEAM' } }),
        (id) => processor.renew(id),
      ];
      for (const act of acts) {
        processor.advance(SECONDS_BETWEEN);
        for (const { events, subscription } of payers) events.push(...toldOf(() => act(subscription)));
      }
      underWay = Promise.all(payers.map((payer, n) => tellAll(url, payer, n)));
    },
    /** Ends when all that was begun is taken. */
    async end(): Promise<void> {
      await underWay;
    },
    async read(sql: Database): Promise<Pick<Money, 'events' | 'left'>> {
      const rows = await sql<{ email: string; tier: string; period: string; owes: boolean }[]>`
        select u.email, s.tier, s.period, s.grace_period_end is not null as owes
        from subscriptions s
        join memberships m on m.org_id = s.org_id
        join users u on u.id = m.user_id
        where u.email = any(${payers.map(({ email }) => email)})`;
      const leftOf = (email: string) =>
        rows.filter((row) => row.email === email).map((row) => [row.tier, row.period, row.owes]);
      return {
        events: [...heard.values()],
        left: payers.flatMap(({ account, email, events, subscription }) => {
          const { metadata, status } = processor.subscriptions.get(subscription)!;
          const there = [[metadata['billing'], metadata['period'], status === 'past_due']];
          const same = events.map(({ type }) => type).join(', ');
          return [
            { account: 'the processor', events: same, left: JSON.stringify(there) },
            { account, events: same, left: JSON.stringify(leftOf(email)) },
          ];
        }),
      };
    },
    [Symbol.asyncDispose]: () => processor[Symbol.asyncDispose](),
  };
}
