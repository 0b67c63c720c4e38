import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openStripe, type Processor } from '../../src/billing/processor/index.ts';
import { describePeer, type Peer } from '../support/peers/peers.ts';
import { stripeMockPeer } from '../support/peers/stripe-mock.ts';

// Every call that we make, judged by the processor's own document: an address or a parameter that it does not know is
// refused there. Its answers are its official examples, which our schemas must read.

await describePeer('stripe-mock', stripeMockPeer, ({ start }) => {
  let peer: Peer;
  let front: Server;
  let processor: Processor;
  const asked: { call: string; status: number; said: string }[] = [];
  /** Calls that are answered here: the mock finds whatever it is asked for, and nothing would ever be made. */
  const instead: Record<string, unknown> = {};

  beforeAll(async () => {
    peer = await start();
    front = createServer((request, response) => {
      const call = `${request.method} ${new URL(request.url!, peer.url).pathname}`;
      if (instead[call])
        return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(instead[call]));
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const headers = Object.fromEntries(
          Object.entries(request.headers).filter(([name]) => !['host', 'connection', 'content-length'].includes(name)),
        ) as Record<string, string>;
        const answer = await fetch(peer.url + request.url, {
          method: request.method!,
          headers,
          ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
        });
        const said = await answer.text();
        asked.push({ call, status: answer.status, said });
        response
          .writeHead(answer.status, { 'content-type': 'application/json', date: answer.headers.get('date')! })
          .end(said);
      })().catch((error: unknown) => response.destroy(error as Error));
    });
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    processor = await openStripe({
      secretKey: 'sk_test_1',
      signingKey: 'whsec_1',
      serviceName: 'service',
      server: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    });
  }, 600_000);
  afterAll(async () => {
    front.closeAllConnections();
    front.close();
    await peer[Symbol.asyncDispose]();
  });

  const offer = (name: string) => ({
    key: `service:${name}:month:2900`,
    product: name,
    cents: 2_900,
    every: 'month' as const,
  });
  const checkout = {
    key: 'checkout:1',
    customer: 'cus_1',
    offer: offer('Plan PRO'),
    quantity: 1,
    trialDays: 30,
    metadata: { service: 'service', uniqueId: '1', billing: 'PRO', period: 'MONTHLY' },
    successUrl: 'https://app.example.com/billing?checkout=1',
    cancelUrl: 'https://app.example.com/billing',
  };

  const CALLS: [string, () => Promise<unknown>][] = [
    ['a customer', () => processor.createCustomer({ orgId: '1', name: 'Acme Ltd', email: 'ann@example.com' })],
    ['a page to pay on, with a trial', () => processor.openCheckout(checkout)],
    [
      'a page to pay packs on',
      () =>
        processor.openCheckout({
          ...checkout,
          trialDays: undefined,
          quantity: 3,
          metadata: { service: 'service', addon: 'channel' },
        }),
    ],
    ['what became of a page', () => processor.checkout('cs_1')],
    ['the end of a page', () => processor.expireCheckout('cs_1')],
    ['a subscription with its latest invoice', () => processor.subscription('sub_1')],
    [
      'more at once',
      () =>
        processor.change('sub_1', {
          offer: offer('Plan TEAM'),
          when: 'now',
          metadata: { billing: 'TEAM', pending: '' },
        }),
    ],
    [
      'less later',
      () =>
        processor.change('sub_1', { offer: offer('Plan STARTER'), when: 'later', metadata: { pending: 'STARTER' } }),
    ],
    ['another number of packs', () => processor.change('sub_1', { quantity: 2 })],
    ['the end of a trial', () => processor.change('sub_1', { endTrial: true })],
    ['a cancellation', () => processor.change('sub_1', { cancelAtPeriodEnd: true })],
    ['a coupon', () => processor.change('sub_1', { coupon: 'coupon_1' })],
    ['the end of a subscription', () => processor.cancel('sub_1')],
    ['the end with the rest credited', () => processor.cancel('sub_1', { refundRest: true })],
    ['a late credit, charge by charge', () => processor.cancel('sub_1', { refundRest: true, isLate: true })],
    ['what a change costs', () => processor.preview('sub_1', offer('Plan TEAM'))],
    ['a card check', async () => processor.checkCard((await processor.subscription('sub_1'))!)],
    ['charges with their invoices', () => processor.charges('cus_1')],
    ['a charge', () => processor.charge('ch_1')],
    ['a refund', () => processor.refund('ch_1')],
    ['the portal', () => processor.portal('cus_1', 'https://app.example.com/billing')],
  ];
  test.each(CALLS)('%s: known address, known parameters, an answer that we read', async (_, call) => {
    const from = asked.length;
    await call();
    const made = asked.slice(from);
    expect(made.length).toBeGreaterThan(0);
    expect(made.filter(({ status }) => status !== 200)).toEqual([]);
  });

  test('a product and a price that are not there are made [BI56]', async () => {
    instead['GET /v1/prices'] = { object: 'list', data: [], has_more: false, url: '/v1/prices' };
    const from = asked.length;
    await processor.openCheckout({ ...checkout, offer: offer('Plan AGENCY') });
    delete instead['GET /v1/prices'];
    expect(asked.slice(from).map(({ call, status }) => `${call} ${status}`)).toEqual([
      'POST /v1/products 200',
      'POST /v1/prices 200',
      'POST /v1/checkout/sessions 200',
    ]);
  });
});
