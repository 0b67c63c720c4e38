// oxlint-disable max-lines -- one server: its calls share what it keeps
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Stripe } from 'stripe';

// A payment processor on the wire, as far as the product uses one: it keeps state, judges every request, does a request
// with one key once, and tells of what happens in signed events, which a test delivers when and as often as it likes.

type Fields = { [name: string]: string | Fields };
type Metadata = Record<string, string>;
export interface Remote {
  id: string;
  object: 'subscription';
  customer: string;
  status: string;
  created: number;
  start_date: number;
  currency: 'usd';
  metadata: Metadata;
  cancel_at: number | null;
  cancel_at_period_end: boolean;
  canceled_at: number | null;
  ended_at: number | null;
  trial_start: number | null;
  trial_end: number | null;
  billing_cycle_anchor: number;
  default_payment_method: string | null;
  latest_invoice: string | null;
  billing_mode: { type: 'classic' | 'flexible' };
  discounts: string[];
  livemode: false;
  items: {
    object: 'list';
    data: {
      id: string;
      object: 'subscription_item';
      quantity: number;
      current_period_start: number;
      current_period_end: number;
      price: Price;
    }[];
  };
}
interface Price {
  id: string;
  object: 'price';
  lookup_key: string;
  unit_amount: number;
  currency: 'usd';
  product: string;
  recurring: { interval: 'month' | 'year'; interval_count: 1 };
  active: true;
}
interface Invoice {
  id: string;
  object: 'invoice';
  customer: string;
  status: 'paid' | 'open';
  billing_reason: string;
  created: number;
  /** Below zero: a credit. */
  total: number;
  amount_due: number;
  invoice_pdf: string;
  /** What credit notes gave back of it. */
  post_payment_credit_notes_amount: number;
  parent: { type: 'subscription_details'; subscription_details: { subscription: string; metadata: Metadata } };
  payments: {
    object: 'list';
    data: { id: string; object: 'invoice_payment'; payment: { type: 'payment_intent'; payment_intent: string } }[];
  };
}
interface Session {
  id: string;
  object: 'checkout.session';
  url: string;
  status: 'open' | 'complete' | 'expired';
  customer: string;
  mode: 'subscription';
  price: Price;
  quantity: number;
  trialDays: number | undefined;
  billingMode: 'classic' | 'flexible';
  metadata: Metadata;
  subscription: string | null;
}
interface Charge {
  id: string;
  object: 'charge';
  amount: number;
  amount_refunded: number;
  captured: boolean;
  created: number;
  currency: 'usd';
  customer: string;
  description: string | null;
  payment_intent: string;
  receipt_url: string;
  refunded: boolean;
  /** The bank has taken the money back: no refund is taken any more. */
  disputed?: boolean;
  /** Every refund of it is refused for good. */
  isUnrefundable?: boolean;
  status: 'succeeded';
}
/** An event as it would be sent; `text` is what is signed. */
export interface Told {
  id: string;
  type: string;
  created: number;
  subscription: string;
  text: string;
}
/** A request that the product made. */
export interface ProcessorCall {
  call: string;
  key: string | undefined;
  fields: Fields;
}

class Refused extends Error {
  readonly status: number;
  readonly body: Record<string, string>;
  constructor(status: number, body: Record<string, string>) {
    super(body['message']);
    this.status = status;
    this.body = body;
  }
}
const invalid = (message: string, more: Record<string, string> = {}) =>
  new Refused(400, { type: 'invalid_request_error', message, ...more });
const missing = (what: string) =>
  new Refused(404, { type: 'invalid_request_error', code: 'resource_missing', message: `No such ${what}` });
const declined = () =>
  new Refused(402, {
    type: 'card_error',
    code: 'card_declined',
    decline_code: 'generic_decline',
    message: 'Your card was declined.',
  });

/** What a call may name; anything else is refused, as the processor does. */
const KNOWN: Record<string, string[]> = {
  'POST /v1/customers': ['metadata'],
  'POST /v1/customers/:id': ['name', 'email'],
  'GET /v1/customers/:id/payment_methods': ['limit'],
  'POST /v1/products': ['id', 'name'],
  'GET /v1/prices': ['lookup_keys', 'active', 'limit'],
  'POST /v1/prices': ['currency', 'unit_amount', 'recurring', 'product', 'lookup_key'],
  'POST /v1/checkout/sessions': [
    'mode',
    'customer',
    'client_reference_id',
    'line_items',
    'payment_method_collection',
    'subscription_data',
    'metadata',
    'success_url',
    'cancel_url',
  ],
  'GET /v1/checkout/sessions/:id': [],
  'POST /v1/checkout/sessions/:id/expire': [],
  'GET /v1/subscriptions/:id': ['expand'],
  'POST /v1/subscriptions/:id': [
    'expand',
    'items',
    'proration_behavior',
    'payment_behavior',
    'metadata',
    'trial_end',
    'cancel_at_period_end',
    'discounts',
  ],
  'DELETE /v1/subscriptions/:id': ['prorate', 'invoice_now'],
  'POST /v1/invoices/create_preview': ['subscription', 'subscription_details'],
  'GET /v1/invoices': ['customer', 'limit', 'expand'],
  'POST /v1/payment_intents': [
    'amount',
    'currency',
    'customer',
    'payment_method',
    'automatic_payment_methods',
    'capture_method',
    'confirm',
    'off_session',
    'description',
    'metadata',
  ],
  'POST /v1/payment_intents/:id/cancel': [],
  'GET /v1/charges': ['customer', 'limit'],
  'GET /v1/charges/:id': [],
  'POST /v1/refunds': ['charge'],
  'POST /v1/credit_notes': ['invoice', 'amount', 'credit_amount', 'metadata'],
  'POST /v1/billing_portal/sessions': ['customer', 'return_url'],
};

const DAY = 86_400;
const SECONDS = { month: 30 * DAY, year: 365 * DAY };

/** `a[b][0]=x` as objects. */
function decode(text: string): Fields {
  const fields: Fields = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/[[\]]+/).filter(Boolean);
    let at = fields;
    for (const step of path.slice(0, -1)) at = (at[step] ??= {}) as Fields;
    at[path.at(-1)!] = value;
  }
  return fields;
}
const text = (value: string | Fields | undefined): string => {
  if (typeof value !== 'string') throw invalid('A value is missing');
  return value;
};
const inner = (value: string | Fields | undefined): Fields => (typeof value === 'object' ? value : {});
const list = <T>(data: T[]) => ({ object: 'list', has_more: false, url: '/v1', data });

type Fault = 'before' | 'after' | 'error' | 'silence';
export interface ProcessorOptions {
  /** Where the product takes events; set it once the app listens. */
  signingKey: string;
}

export async function startPaymentProcessor({ signingKey }: ProcessorOptions) {
  const sdk = new Stripe('sk_test_1');
  const customers = new Map<
    string,
    { id: string; object: 'customer'; metadata: Metadata; method: string | null; name?: string; email?: string }
  >();
  const products = new Set<string>();
  const prices = new Map<string, Price>();
  const sessions = new Map<string, Session>();
  const subscriptions = new Map<string, Remote>();
  const invoices = new Map<string, Invoice>();
  const intents = new Map<string, { id: string; object: 'payment_intent'; status: string; amount: number }>();
  const charges: Charge[] = [];
  /** What was debited for the period that runs, by subscription. */
  const debited = new Map<string, number>();
  /** What is credited to customers, in cents. */
  const balances = new Map<string, number>();
  const answered = new Map<string, { call: string; body: string; status: number; reply: string }>();
  const asked: ProcessorCall[] = [];
  const told: Told[] = [];
  /**
   * Calls that end without an answer, before anything is done or after; or with an error of the processor, which it
   * repeats as it repeats every answer to a key.
   */
  const silent = new Set<() => void>();
  const between: { call: string; act: () => Promise<void> }[] = [];
  const faults: { call: string; when: Fault }[] = [];
  const bad = { cards: new Set<string>() };
  let count = 0;
  let now = Math.floor(new Date().getTime() / 1000);
  const id = (kind: string) => `${kind}_${String((count += 1)).padStart(6, '0')}`;

  function found<T>(map: Map<string, T>, key: string | undefined, what: string): T {
    const one = key === undefined ? undefined : map.get(key);
    if (!one) throw missing(what);
    return one;
  }

  function tell(type: string, object: object, subscription: string): Told {
    const event = {
      id: id('evt'),
      object: 'event',
      api_version: '2026-10-28.endive',
      created: now,
      livemode: false,
      pending_webhooks: 1,
      type,
      data: { object },
    };
    const one = { id: event.id, type, created: now, subscription, text: JSON.stringify(event) };
    told.push(one);
    return one;
  }
  const tellOf = (type: 'created' | 'updated' | 'deleted', remote: Remote) =>
    tell(`customer.subscription.${type}`, remote, remote.id);

  function invoiceOf(remote: Remote, reason: string, amount: number, paid: boolean): Invoice {
    const invoice: Invoice = {
      id: id('in'),
      object: 'invoice',
      customer: remote.customer,
      status: paid ? 'paid' : 'open',
      billing_reason: reason,
      created: now,
      total: amount,
      amount_due: Math.max(0, amount),
      invoice_pdf: 'https://pay.example.com/invoice.pdf',
      post_payment_credit_notes_amount: 0,
      parent: {
        type: 'subscription_details',
        subscription_details: { subscription: remote.id, metadata: { ...remote.metadata } },
      },
      payments: {
        object: 'list',
        data: [
          { id: id('inpay'), object: 'invoice_payment', payment: { type: 'payment_intent', payment_intent: id('pi') } },
        ],
      },
    };
    invoices.set(invoice.id, invoice);
    remote.latest_invoice = invoice.id;
    if (paid && amount > 0)
      charges.unshift({
        id: id('ch'),
        object: 'charge',
        amount,
        amount_refunded: 0,
        captured: true,
        created: now,
        currency: 'usd',
        customer: remote.customer,
        description: 'Subscription update',
        payment_intent: invoice.payments.data[0]!.payment.payment_intent,
        receipt_url: 'https://pay.example.com/receipt',
        refunded: false,
        status: 'succeeded',
      });
    tell(paid ? 'invoice.payment_succeeded' : 'invoice.payment_failed', invoice, remote.id);
    return invoice;
  }
  const amountOf = ({ items }: Remote) =>
    items.data.reduce((sum, { price, quantity }) => sum + price.unit_amount * quantity, 0);
  /** What stands against a new price: in the flexible mode what was debited, in the classic one the price of now. */
  const creditOf = (remote: Remote) =>
    remote.billing_mode.type === 'flexible' ? (debited.get(remote.id) ?? 0) : amountOf(remote);
  const cardOf = (remote: Remote) => remote.default_payment_method ?? customers.get(remote.customer)?.method ?? null;
  const pays = (remote: Remote) => {
    const card = cardOf(remote);
    return card !== null && !bad.cards.has(card);
  };
  const shown = (remote: Remote, expand: boolean) => ({
    ...remote,
    latest_invoice: expand && remote.latest_invoice ? invoices.get(remote.latest_invoice)! : remote.latest_invoice,
  });

  function update(remote: Remote, fields: Fields): void {
    const credit = creditOf(remote);
    const draft = structuredClone(remote);
    for (const wanted of Object.values(inner(fields['items'])) as Fields[]) {
      const item = draft.items.data.find((one) => one.id === wanted['id']);
      if (!item) throw missing('subscription_item');
      if (wanted['price'] !== undefined) {
        const price = found(prices, text(wanted['price']), 'price');
        if (price.recurring.interval !== item.price.recurring.interval) draft.billing_cycle_anchor = now;
        item.price = price;
      }
      if (wanted['quantity'] !== undefined) item.quantity = Number(wanted['quantity']);
    }
    for (const [name, value] of Object.entries(inner(fields['metadata']))) {
      if (value === '') delete draft.metadata[name];
      else draft.metadata[name] = text(value);
    }
    if (fields['cancel_at_period_end'] !== undefined) {
      draft.cancel_at_period_end = fields['cancel_at_period_end'] === 'true';
      draft.cancel_at = draft.cancel_at_period_end ? draft.items.data[0]!.current_period_end : null;
    }
    if (fields['discounts'] !== undefined) draft.discounts = [id('di')];
    const more = amountOf(draft) - credit;
    const invoiced = fields['proration_behavior'] === 'always_invoice' && draft.status !== 'trialing';
    if (invoiced) debited.set(remote.id, amountOf(draft));
    if (more > 0 && invoiced) {
      if (!pays(draft)) {
        debited.set(remote.id, credit);
        throw declined();
      }
      Object.assign(remote, draft);
      invoiceOf(remote, 'subscription_update', more, true);
    } else Object.assign(remote, draft);
    if (fields['trial_end'] === 'now') endTrial(remote);
    else tellOf('updated', remote);
  }

  function endTrial(remote: Remote): void {
    remote.trial_end = now;
    remote.billing_cycle_anchor = now;
    const paid = pays(remote);
    remote.status = paid ? 'active' : 'past_due';
    const item = remote.items.data[0]!;
    item.current_period_start = now;
    item.current_period_end = now + SECONDS[item.price.recurring.interval];
    debited.set(remote.id, amountOf(remote));
    invoiceOf(remote, 'subscription_update', amountOf(remote), paid);
    tellOf('updated', remote);
  }
  function end(remote: Remote): void {
    if (remote.status === 'canceled') throw missing('subscription');
    remote.status = 'canceled';
    remote.canceled_at = now;
    remote.ended_at = now;
    tellOf('deleted', remote);
  }
  /**
   * What was debited for the part of the period that is left goes to the balance of the customer, whatever became of
   * the charge.
   */
  function creditRest(remote: Remote): void {
    const { current_period_start: from, current_period_end: to } = remote.items.data[0]!;
    const rest = Math.round(((debited.get(remote.id) ?? 0) * Math.max(0, to - now)) / (to - from));
    if (rest === 0) return;
    balances.set(remote.customer, (balances.get(remote.customer) ?? 0) + rest);
    invoiceOf(remote, 'subscription_update', -rest, true);
  }

  type Handler = (fields: Fields, given: string) => unknown;
  const calls: Record<string, Handler> = {
    'POST /v1/customers': ({ metadata }) => {
      const customer = {
        id: id('cus'),
        object: 'customer' as const,
        metadata: inner(metadata) as Metadata,
        method: null,
      };
      customers.set(customer.id, customer);
      return customer;
    },
    'POST /v1/customers/:id': (fields, given) => Object.assign(found(customers, given, 'customer'), fields),
    'GET /v1/customers/:id/payment_methods': (_, given) => {
      const { method } = found(customers, given, 'customer');
      return list(method === null ? [] : [{ id: method, object: 'payment_method' }]);
    },
    'POST /v1/products': ({ id: given }) => {
      const product = text(given);
      if (products.has(product)) throw invalid('Product already exists.', { code: 'resource_already_exists' });
      products.add(product);
      return { id: product, object: 'product' };
    },
    'GET /v1/prices': ({ lookup_keys: keys }) =>
      list([...prices.values()].filter(({ lookup_key }) => Object.values(inner(keys)).includes(lookup_key))),
    'POST /v1/prices': ({ unit_amount, recurring, product, lookup_key, currency }) => {
      if ([...prices.values()].some((price) => price.lookup_key === lookup_key))
        throw invalid('A price with this lookup_key exists already.');
      if (!products.has(text(product))) throw missing('product');
      if (currency !== 'usd') throw invalid('currency');
      const interval = text(inner(recurring)['interval']) as 'month' | 'year';
      const price: Price = {
        id: id('price'),
        object: 'price',
        lookup_key: text(lookup_key),
        unit_amount: Number(unit_amount),
        currency: 'usd',
        product: text(product),
        recurring: { interval, interval_count: 1 },
        active: true,
      };
      prices.set(price.id, price);
      return price;
    },
    'POST /v1/checkout/sessions': ({ customer, line_items, subscription_data, mode }) => {
      if (mode !== 'subscription') throw invalid('mode');
      const line = inner(inner(line_items)['0']);
      const data = inner(subscription_data);
      const session: Session = {
        id: id('cs'),
        object: 'checkout.session',
        url: '',
        status: 'open',
        customer: found(customers, text(customer), 'customer').id,
        mode: 'subscription',
        price: found(prices, text(line['price']), 'price'),
        quantity: Number(line['quantity']),
        trialDays: data['trial_period_days'] === undefined ? undefined : Number(data['trial_period_days']),
        billingMode: inner(data['billing_mode'])['type'] === 'classic' ? 'classic' : 'flexible',
        metadata: inner(data['metadata']) as Metadata,
        subscription: null,
      };
      session.url = `https://pay.example.com/${session.id}`;
      sessions.set(session.id, session);
      return session;
    },
    'GET /v1/checkout/sessions/:id': (_, given) => found(sessions, given, 'checkout.session'),
    'POST /v1/checkout/sessions/:id/expire': (_, given) => {
      const session = found(sessions, given, 'checkout.session');
      if (session.status !== 'open') throw invalid('Only Checkout Sessions with a status in ["open"] can be expired.');
      session.status = 'expired';
      return session;
    },
    'GET /v1/subscriptions/:id': ({ expand }, given) =>
      shown(found(subscriptions, given, 'subscription'), expand !== undefined),
    'POST /v1/subscriptions/:id': (fields, given) => {
      const remote = found(subscriptions, given, 'subscription');
      if (remote.status === 'canceled')
        throw invalid('A canceled subscription can only update its cancellation_details and metadata.');
      update(remote, fields);
      return shown(remote, fields['expand'] !== undefined);
    },
    'DELETE /v1/subscriptions/:id': ({ prorate, invoice_now }, given) => {
      const remote = found(subscriptions, given, 'subscription');
      end(remote);
      if (prorate === 'true' && invoice_now === 'true') creditRest(remote);
      return remote;
    },
    'POST /v1/invoices/create_preview': ({ subscription, subscription_details }) => {
      const remote = found(subscriptions, text(subscription), 'subscription');
      const wanted = inner(inner(inner(subscription_details)['items'])['0']);
      return {
        object: 'invoice',
        amount_due: found(prices, text(wanted['price']), 'price').unit_amount - creditOf(remote),
      };
    },
    'GET /v1/invoices': ({ customer }) =>
      list([...invoices.values()].filter((invoice) => invoice.customer === customer)),
    'POST /v1/payment_intents': ({ amount, payment_method, capture_method }) => {
      if (capture_method !== 'manual') throw invalid('capture_method');
      if (bad.cards.has(text(payment_method))) throw declined();
      const intent = {
        id: id('pi'),
        object: 'payment_intent' as const,
        status: 'requires_capture',
        amount: Number(amount),
      };
      intents.set(intent.id, intent);
      return intent;
    },
    'POST /v1/payment_intents/:id/cancel': (_, given) => {
      const intent = found(intents, given, 'payment_intent');
      if (intent.status === 'canceled') throw invalid('It is canceled.', { code: 'payment_intent_unexpected_state' });
      intent.status = 'canceled';
      return intent;
    },
    'GET /v1/charges': ({ customer }) => list(charges.filter((charge) => charge.customer === customer)),
    'GET /v1/charges/:id': (_, given) => found(new Map(charges.map((charge) => [charge.id, charge])), given, 'charge'),
    'POST /v1/refunds': ({ charge: given }) => {
      const charge = found(new Map(charges.map((one) => [one.id, one])), text(given), 'charge');
      if (charge.refunded) throw invalid('Charge has already been refunded.', { code: 'charge_already_refunded' });
      if (charge.disputed)
        throw invalid(`Charge ${charge.id} has been charged back; cannot issue a refund.`, { code: 'charge_disputed' });
      if (charge.isUnrefundable) throw invalid(`Charge ${charge.id} is too old to be refunded.`);
      Object.assign(charge, { refunded: true, amount_refunded: charge.amount });
      return { id: id('re'), object: 'refund', charge: charge.id };
    },
    'POST /v1/credit_notes': ({ invoice: given, amount, credit_amount }) => {
      const invoice = found(invoices, text(given), 'invoice');
      const cents = Number(text(amount));
      if (amount !== credit_amount || invoice.status !== 'paid') throw invalid('The amounts do not add up.');
      if (invoice.post_payment_credit_notes_amount + cents > invoice.total) throw invalid('More than was paid.');
      invoice.post_payment_credit_notes_amount += cents;
      balances.set(invoice.customer, (balances.get(invoice.customer) ?? 0) + cents);
      return { id: id('cn'), object: 'credit_note', invoice: invoice.id };
    },
    'POST /v1/billing_portal/sessions': ({ customer }) => ({
      object: 'billing_portal.session',
      url: `https://pay.example.com/portal/${found(customers, text(customer), 'customer').id}`,
    }),
  };
  const patterns = Object.keys(calls).map((call) => {
    const [method = '', path = ''] = call.split(' ');
    return { call, method, path: new RegExp(`^${path.replace(':id', '([^/]+)')}$`) };
  });

  /** Whether the call is to fail so, this once. */
  function takeFault(of: string, how: Fault): boolean {
    const fault = faults.findIndex(({ call, when }) => when === how && call === of);
    if (fault >= 0) faults.splice(fault, 1);
    return fault >= 0;
  }
  async function answer(request: IncomingMessage): Promise<{ status: number; reply: string; repeated?: boolean }> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url!, 'http://processor');
    const body = Buffer.concat(chunks).toString();
    const fields = decode(request.method === 'POST' ? body : url.search.slice(1) || body);
    const match = patterns.find(({ method, path }) => method === request.method && path.test(url.pathname));
    const call = match?.call ?? `${request.method} ${url.pathname}`;
    const key = request.headers['idempotency-key'] as string | undefined;
    asked.push({ call, key, fields });
    const refuse = (error: Refused) => ({ status: error.status, reply: JSON.stringify({ error: error.body }) });
    if (request.headers.authorization !== 'Bearer sk_test_1')
      return refuse(new Refused(401, { type: 'invalid_request_error', message: 'Invalid API Key' }));
    if (!match)
      return refuse(new Refused(404, { type: 'invalid_request_error', message: `Unrecognized request URL (${call})` }));
    const odd = Object.keys(fields).find((name) => !KNOWN[call]!.includes(name));
    if (odd !== undefined)
      return refuse(invalid(`Received unknown parameter: ${odd}`, { code: 'parameter_unknown', param: odd }));

    const before = key === undefined || request.method !== 'POST' ? undefined : answered.get(key);
    if (before)
      return before.body === body && before.call === call
        ? { ...before, repeated: true }
        : refuse(new Refused(400, { type: 'idempotency_error', message: 'Other parameters' }));
    const result = takeFault(call, 'error')
      ? {
          status: 500,
          reply: JSON.stringify({
            error: { type: 'api_error', message: 'Something went wrong on the side of the processor' },
          }),
        }
      : attempt(call, fields, match.path.exec(url.pathname)![1] ?? '');
    if (key !== undefined && request.method === 'POST') answered.set(key, { call, body, ...result });
    return result;

    function attempt(of: string, given: Fields, named: string) {
      try {
        return { status: 200, reply: JSON.stringify(calls[of]!(given, named)) };
      } catch (error) {
        if (error instanceof Refused) return refuse(error);
        throw error;
      }
    }
  }

  const server = createServer((request, response) => {
    if (takeFault(nameOf(request), 'before')) return void request.socket.destroy();
    void answer(request)
      .then(async (done) => {
        const next = between.findIndex(({ call }) => call === nameOf(request));
        if (next >= 0) await between.splice(next, 1)[0]!.act();
        return done;
      })
      .then(
        ({ status, reply, repeated }) => {
          if (takeFault(nameOf(request), 'after')) return request.socket.destroy();
          if (takeFault(nameOf(request), 'silence')) return silent.forEach((heard) => heard());
          response
            .writeHead(status, {
              'content-type': 'application/json',
              'request-id': id('req'),
              date: new Date(now * 1000).toUTCString(),
              ...(repeated && { 'idempotent-replayed': 'true' }),
              ...(status >= 500 && { 'stripe-should-retry': 'false' }), // it would be repeated
            })
            .end(reply);
        },
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  const nameOf = ({ method, url }: IncomingMessage) => {
    const path = new URL(url!, 'http://processor').pathname;
    return patterns.find((one) => one.method === method && one.path.test(path))?.call ?? '';
  };
  // a connection that ends as a request comes would use up one of the attempts that a test counts
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    told,
    sessions,
    subscriptions,
    prices,
    products,
    intents,
    charges,
    balances,
    customers,
    count: (call: string) => asked.filter((one) => one.call === call).length,
    /** The next such call ends without an answer, before or after it was done, or with an error of the processor. */
    fail: (call: string, when: Fault = 'before') => void faults.push({ call, when }),
    /** The next such call is done, then this happens, then it is answered. */
    meanwhile: (call: string, act: () => Promise<void>) => void between.push({ call, act }),
    /** The next such call is done and never answered; ends when it has been done. */
    keepSilent(call: string): Promise<void> {
      faults.push({ call, when: 'silence' });
      return new Promise((resolve) => {
        const heard = () => {
          silent.delete(heard);
          resolve();
        };
        silent.add(heard);
      });
    },
    advance: (seconds: number) => void (now += seconds),
    get now() {
      return now;
    },

    /** Somebody pays on a page. */
    pay(sessionId: string, { card = id('pm'), good = true }: { card?: string; good?: boolean } = {}): Remote {
      const session = found(sessions, sessionId, 'checkout.session');
      if (session.status !== 'open') throw new Error(`The page is ${session.status}`);
      if (!good) bad.cards.add(card);
      const trial = session.trialDays !== undefined;
      const until =
        now + (session.trialDays === undefined ? SECONDS[session.price.recurring.interval] : session.trialDays * DAY);
      const remote: Remote = {
        id: id('sub'),
        object: 'subscription',
        customer: session.customer,
        status: trial ? 'trialing' : 'active',
        created: now,
        start_date: now,
        currency: 'usd',
        metadata: { ...session.metadata },
        cancel_at: null,
        cancel_at_period_end: false,
        canceled_at: null,
        ended_at: null,
        trial_start: trial ? now : null,
        trial_end: trial ? until : null,
        billing_cycle_anchor: trial ? until : now,
        default_payment_method: card,
        latest_invoice: null,
        billing_mode: { type: session.billingMode },
        discounts: [],
        livemode: false,
        items: {
          object: 'list',
          data: [
            {
              id: id('si'),
              object: 'subscription_item',
              quantity: session.quantity,
              current_period_start: now,
              current_period_end: until,
              price: session.price,
            },
          ],
        },
      };
      subscriptions.set(remote.id, remote);
      debited.set(remote.id, trial ? 0 : amountOf(remote));
      customers.get(session.customer)!.method = card;
      session.status = 'complete';
      session.subscription = remote.id;
      tellOf('created', remote);
      invoiceOf(remote, 'subscription_create', trial ? 0 : amountOf(remote), true);
      return remote;
    },

    /** A period ends; the next is paid unless the card is bad. */
    renew(subscriptionId: string): Remote {
      const remote = found(subscriptions, subscriptionId, 'subscription');
      const item = remote.items.data[0]!;
      now = Math.max(now, item.current_period_end);
      if (remote.cancel_at_period_end) {
        end(remote);
        return remote;
      }
      item.current_period_start = item.current_period_end;
      item.current_period_end += SECONDS[item.price.recurring.interval];
      const paid = pays(remote);
      debited.set(remote.id, amountOf(remote));
      remote.status = paid ? 'active' : 'past_due';
      tellOf('updated', remote);
      invoiceOf(remote, 'subscription_cycle', amountOf(remote), paid);
      return remote;
    },
    /** The card works, or does not, from now on. */
    setCard(subscriptionId: string, good: boolean) {
      const card = cardOf(found(subscriptions, subscriptionId, 'subscription'))!;
      if (good) bad.cards.delete(card);
      else bad.cards.add(card);
    },
    /** What is owed is collected after all. */
    collect(subscriptionId: string): Remote {
      const remote = found(subscriptions, subscriptionId, 'subscription');
      remote.status = 'active';
      const open = invoices.get(remote.latest_invoice!)!;
      open.status = 'paid';
      tell('invoice.payment_succeeded', open, remote.id);
      tellOf('updated', remote);
      return remote;
    },
    /** It ends at the processor: by the portal, or after the last attempt to collect. */
    end: (subscriptionId: string) => end(found(subscriptions, subscriptionId, 'subscription')),
    /** A change made elsewhere, in the portal or by the operator. */
    change(subscriptionId: string, change: Partial<Remote>): Remote {
      const remote = Object.assign(found(subscriptions, subscriptionId, 'subscription'), change);
      tellOf('updated', remote);
      return remote;
    },

    /** Sends an event to the product, signed now unless told otherwise. */
    deliver: (
      address: string,
      { text: payload }: Pick<Told, 'text'>,
      signature: Record<string, string | undefined> = {},
    ) =>
      fetch(`${address}/payments`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'stripe-signature': sdk.webhooks.generateTestHeaderString({ payload, secret: signingKey }),
          ...(signature as Record<string, string>),
        },
        body: payload,
      }).then(async (response) => ({
        status: response.status,
        body: (await response.json()) as Record<string, unknown>,
      })),
    sign: (payload: string, { secret = signingKey, timestamp }: { secret?: string; timestamp?: number } = {}) =>
      sdk.webhooks.generateTestHeaderString({ payload, secret, ...(timestamp !== undefined && { timestamp }) }),

    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
export type PaymentProcessor = Awaited<ReturnType<typeof startPaymentProcessor>>;
