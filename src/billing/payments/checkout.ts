import type { AuditActor } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { AppError, bind, newId } from '../../platform/kernel/index.ts';
import { checkoutStore as store } from '../subscriptions/index.ts';
import { isAway, type Offer, type Processor } from '../processor/index.ts';
import type { Apply } from '../subscriptions/index.ts';
import { TRIAL_DAYS } from '../subscriptions/index.ts';
import { addTask } from '../processor/index.ts';
import { emailOf, findCustomer, keepCustomer, nameOf } from '../subscriptions/index.ts';

export interface CheckoutNeeds {
  sql: Database;
  processor: Processor;
  apply: Apply;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  /** Told after the commit that tasks may wait. */
  afterwards(orgId: string): void;
  log: Log;
  serviceName: string;
  frontendUrl: string;
}
interface CheckoutDeps extends CheckoutNeeds {
  /** Where the buyer comes back to. */
  billingPage: string;
}
/** What is to be paid for on a page. */
export interface Wish {
  intent: store.Intent;
  /** Intents of which the org can want one at a time. */
  rivals(item: string): boolean;
  /** True when a payment came in between and the org has what is wished for. */
  has(sql: Sql): Promise<boolean>;
  offer: Offer;
  metadata: Record<string, string>;
  mayTry: boolean;
}
export type Buyer = AuditActor & { userId: string };

const beingPaid = () =>
  new AppError('conflict', 'A payment of yours is being worked on; see the billing page in a minute');

/** The org's customer at the processor, made once: the processor keeps the key, our row the first answer. */
async function customerOf({ sql, processor }: CheckoutDeps, orgId: string, by: AuditActor): Promise<string> {
  const known = await findCustomer(sql, orgId);
  if (known !== undefined) return known;
  const [{ name }, email] = await Promise.all([nameOf(sql, orgId), emailOf(sql, by.userId)]);
  await keepCustomer(sql, orgId, await processor.createCustomer({ orgId, name, email }));
  return (await findCustomer(sql, orgId))!;
}

/** The row of this wish, made unless it is there, and those that it takes the place of. */
async function reserve(
  { sql, lockOrg, apply }: CheckoutDeps,
  orgId: string,
  by: Buyer,
  { intent, rivals, has, mayTry }: Wish,
): Promise<{ mine: store.CheckoutRow; others: store.CheckoutRow[] }> {
  const found: { mine: store.CheckoutRow; others: store.CheckoutRow[] }[] = [];
  await sql.begin(async (tx) => {
    await lockOrg(tx, orgId);
    if (await has(tx)) throw beingPaid();
    const trial = mayTry && (await nameOf(tx, orgId)).allowTrial;
    const wanted = (await store.listOpenCheckouts(tx, orgId)).filter(({ item }) => rivals(item));
    const [last] = wanted; // an earlier one of the same words may be closed by whoever came in between
    const same =
      last &&
      last.item === intent.item &&
      last.period === intent.period &&
      last.packs === intent.packs &&
      last.trial === trial
        ? last
        : undefined;
    const mine = same ?? { id: newId(), ...intent, trial, sessionId: null, url: null };
    if (!same) {
      await store.insertCheckout(tx, orgId, { ...mine, userId: by.userId });
      await apply.note(tx, orgId, 'checkout_opened', by, {
        item: intent.item,
        period: intent.period,
        packs: intent.packs,
        trial,
      });
    }
    found.push({ mine, others: wanted.filter((one) => one !== same) });
  });
  return found[0]!;
}

/** Reads the state of a checkout page. What was bought on it is read from the processor: its event may never come. */
async function ask(
  { processor, sql, afterwards }: CheckoutDeps,
  orgId: string,
  sessionId: string,
): Promise<'open' | 'complete' | 'expired'> {
  const { state, subscription } = await processor.checkout(sessionId);
  if (subscription !== undefined) {
    await addTask(sql, orgId, { kind: 'sync', subscription });
    afterwards(orgId);
  }
  return state;
}

/** Closes a page; throws when somebody has paid on it. */
async function close(deps: CheckoutDeps, orgId: string, { id, sessionId }: store.CheckoutRow): Promise<void> {
  if (sessionId === null) return; // its request is still on the way, and closes its page itself
  if ((await ask(deps, orgId, sessionId)) === 'complete') throw beingPaid();
  await deps.processor.expireCheckout(sessionId);
  await store.dropCheckout(deps.sql, orgId, id);
}

/** Writes the page down. False: while it was made somebody asked for another one, which could not close it. */
async function keep(
  { sql, lockOrg }: CheckoutDeps,
  orgId: string,
  id: string,
  session: { id: string; url: string },
  { rivals }: Wish,
): Promise<boolean> {
  const kept: boolean[] = [];
  await sql.begin(async (tx) => {
    await lockOrg(tx, orgId);
    await store.keepSession(tx, orgId, id, session);
    const [newest] = (await store.listOpenCheckouts(tx, orgId)).filter(({ item }) => rivals(item));
    kept.push(newest === undefined || newest.id === id);
  });
  return kept[0]!;
}

/** The address of the page for a wish. */
async function open(deps: CheckoutDeps, orgId: string, by: Buyer, wish: Wish): Promise<string> {
  const { sql, processor, serviceName, billingPage } = deps;
  const customer = await customerOf(deps, orgId, by);
  for (;;) {
    const { mine, others } = await reserve(deps, orgId, by, wish);
    for (const other of others) await close(deps, orgId, other);
    if (mine.sessionId !== null && mine.url !== null) {
      const state = await ask(deps, orgId, mine.sessionId);
      if (state === 'complete') throw beingPaid();
      if (state === 'open') return mine.url;
      await store.dropCheckout(sql, orgId, mine.id);
      continue;
    }
    const session = await processor.openCheckout({
      key: `checkout:${mine.id}`,
      customer,
      offer: wish.offer,
      quantity: Math.max(1, wish.intent.packs),
      trialDays: mine.trial ? TRIAL_DAYS : undefined,
      metadata: { service: serviceName, uniqueId: mine.id, ...wish.metadata },
      successUrl: `${billingPage}?checkout=${mine.id}`,
      cancelUrl: billingPage,
    });
    if (!session) {
      // an earlier request for this row, whose answer was lost, had other words
      await store.dropCheckout(sql, orgId, mine.id);
      continue;
    }
    if (await keep(deps, orgId, mine.id, session, wish)) return session.url;
    await close(deps, orgId, { ...mine, sessionId: session.id });
    throw new AppError('conflict', 'Another order of this organization came after this one');
  }
}

const check = ({ sql }: CheckoutDeps, orgId: string, id: string) => store.checkoutStatus(sql, orgId, id);

/** Pages that nobody can pay on any more and of which no event told. */
async function dropOld(deps: CheckoutDeps, limit: number): Promise<number> {
  const { sql, log } = deps;
  let dropped = 0;
  for (const { id, orgId, sessionId } of await store.oldCheckouts(sql, limit))
    try {
      if (sessionId !== null) await ask(deps, orgId, sessionId);
      await store.dropCheckout(sql, orgId, id);
      dropped += 1;
    } catch (error) {
      log.warn(
        { orgId, checkout: id, err: error },
        'an expired checkout page could not be read, repeated by the next sweep',
      );
      if (isAway(error)) break;
    }
  return dropped;
}

/** Pages of the processor on which people pay. However often one is asked for, it is one page, and can be paid once. */
export const openCheckouts = (opened: CheckoutNeeds) => {
  const billingPage = `${opened.frontendUrl.replace(/\/$/, '')}/billing`;
  return bind({ ...opened, billingPage }, { customerOf, open, check, dropOld });
};

export type Checkouts = ReturnType<typeof openCheckouts>;
