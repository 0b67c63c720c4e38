import type { AnyRoute } from '../../../api/http/route.ts';
import type { Tier } from '../../../src/entitlements/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { Client, type SignedUp, testApp, WITH_MAIL } from './app.ts';
import { WITH_BILLING } from './billing.ts';
import { testDatabase } from '../wire/database.ts';
import { type PaymentProcessor, type Remote, startPaymentProcessor, type Told } from '../peers/payment-processor.ts';

interface Options {
  env?: Record<string, string>;
  routes?: readonly AnyRoute[];
}

/** The app with billing on, its database, and a payment processor that it calls. */
export async function payingApp({ env = {}, ...options }: Options = {}) {
  await using opened = new AsyncDisposableStack();
  const db = opened.use(await testDatabase());
  const processor = opened.use(await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY }));
  const app = opened.use(
    await testApp({ sql: db.sql, env: { ...WITH_BILLING, ...env }, paymentsServer: processor.url, ...options }),
  );
  const door =
    env['EMAIL_PROVIDER'] === WITH_MAIL.EMAIL_PROVIDER
      ? opened.use(await testApp({ sql: db.sql, env: WITH_BILLING }))
      : app; // people come in without mail
  let heard = 0;
  const end = opened.move();

  /** Delivers what the processor has told since the last call, in its order; then what follows from it is done. */
  async function deliverAll(): Promise<void> {
    while (heard < processor.told.length) {
      const answer = await deliver(processor.told[heard++]!);
      if (answer.status !== 200) throw new Error(`Refused: ${JSON.stringify(answer.body)}`);
    }
    await settled();
    if (heard < processor.told.length) await deliverAll();
  }
  const deliver = (event: Pick<Told, 'text'>, signature?: Record<string, string | undefined>) =>
    processor.deliver(app.address, event, signature);
  /** Lets what waits for the processor be done. */
  const settled = () => app.context.payments.sweep(100);

  return {
    db,
    sql: db.sql,
    app,
    processor,
    deliver,
    deliverAll,
    settled,
    /** The owner of a new org. */
    async signUp(): Promise<SignedUp> {
      const person = await door.signUp();
      const client = Object.assign(new Client(app.address), { cookies: person.client.cookies });
      return { ...person, client };
    },
    /** An org with nobody in it that has had its trial: for what needs many of them. */
    async bareOrg(): Promise<string> {
      const orgId = newId();
      await db.sql`insert into organizations (id, name, allow_trial) values (${orgId}, 'Bare Ltd', false)`;
      return orgId;
    },
    /** The page on which such an org pays for a plan. */
    async pageOf(orgId: string, tier: Tier): Promise<string> {
      const ordered = await app.context.payments.subscribe(
        orgId,
        { userId: orgId, impersonatorId: null, ip: null },
        { tier, period: 'MONTHLY' },
      );
      return 'url' in ordered ? ordered.url.split('/').at(-1)! : '';
    },
    /** Nothing of what was told until now is delivered by `deliverAll`. */
    skip: () => void (heard = processor.told.length),
    /** Orders a plan and pays for it on the page. */
    async buy(
      ann: SignedUp,
      billing = 'PRO',
      period = 'MONTHLY',
      { good = true }: { good?: boolean } = {},
    ): Promise<Remote> {
      const remote = payOn(
        processor,
        (await ann.client.post('/billing/subscribe', { billing, period })).body.url,
        good,
      );
      await deliverAll();
      return remote;
    },
    async buyPacks(ann: SignedUp, type: string, packs: number): Promise<Remote> {
      const remote = payOn(processor, (await ann.client.post('/billing/addons', { type, packs })).body.url, true);
      await deliverAll();
      return remote;
    },
    subscription: async (ann: SignedUp) => (await ann.client.get('/billing/subscription')).body,
    /** The word that is kept of an event. */
    outcome: async ({ id }: Pick<Told, 'id'>) =>
      (await db.sql<{ outcome: string }[]>`select outcome from payment_events where id = ${id}`)[0]?.outcome,
    /** Moves the org so many days into the future, as far as its subscription goes. */
    passDays: (orgId: string, days: number) => db.sql`
      update subscriptions
      set grace_period_end = grace_period_end - ${days}::float8 * interval '1 day',
        grace_due_at = grace_due_at - ${days}::float8 * interval '1 day'
      where org_id = ${orgId}`,
    /** Addresses and kinds of the mails that were written, oldest first. */
    mails: async () =>
      (
        await db.sql<{ to: string; template: string }[]>`select to_address as "to", template from emails order by id`
      ).map(({ to, template }) => `${template} ${to}`),
    audits: async (orgId: string) =>
      (
        await db.sql<
          { action: string }[]
        >`select action from audit_log where org_id = ${orgId} and resource = 'billing' order by id`
      ).map(({ action }) => action),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type PayingApp = Awaited<ReturnType<typeof payingApp>>;

const payOn = (processor: PaymentProcessor, url: string, good: boolean): Remote =>
  processor.pay(url.split('/').at(-1)!, { good });
