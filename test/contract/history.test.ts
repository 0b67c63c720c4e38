import { describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { type History, type LedgerRow, violationsOf } from '../support/processes/history.ts';

// The judge of the chaos tests, judged: a good history passes, and each forged one is refused under the right name.

const DEPLOYMENT = 'the secret of the deployment';
const SECRET = `whsec_${Buffer.from('the key of one webhook').toString('base64')}`;
const at = (ms: number) => new Date(1_800_000_000_000 + ms);

function received(
  postId: string,
  { id = `msg_${postId}`, secret = SECRET, deployment = DEPLOYMENT, status = 200, event = 'post.published' } = {},
) {
  const body = Buffer.from(JSON.stringify({ event, timestamp: at(0).toISOString(), data: { postId } }));
  const signature = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`${id}.1800000000.`)
    .update(body)
    .digest('base64');
  return {
    headers: {
      'webhook-id': id,
      'webhook-timestamp': '1800000000',
      'webhook-signature': `v1,${signature}`,
      'x-service-signature': `sha256=${createHmac('sha256', deployment).update(body).digest('hex')}`,
    },
    body,
    status,
  };
}
const created = (postId: string, due: number, channel = 'one') => ({
  status: 201,
  postId,
  channelId: channel,
  account: channel,
  due: at(due),
  answeredAt: at(-500),
  latencyMs: 50,
});
const noted = (seq: number, key: string, ms: number, more: Partial<LedgerRow> = {}): LedgerRow => ({
  seq,
  at: at(ms),
  account: 'one',
  postId: `there-${key}`,
  step: 'publish',
  idempotencyKey: key,
  accepted: true,
  answered: 'ok',
  ...more,
});
const row = (id: string, more: object = {}) => ({
  id,
  state: 'PUBLISHED',
  detail: null,
  error: null,
  attempt: 1,
  deleted: false,
  releaseId: `there-${id}`,
  ...more,
});
const delivery = (postId: string, more: object = {}) => ({
  id: `d-${postId}`,
  webhookId: 'hook',
  postId,
  attempts: 1,
  ...more,
});

/** Two posts of one channel, published in order, each announced once. */
const good: History = {
  created: [created('a', 0), created('b', 100)],
  ledger: [noted(1, 'a', 60), noted(2, 'b', 160)],
  received: [received('a'), received('b')],
  hooks: [{ id: 'hook', secret: SECRET, channelIds: ['one'] }],
  deploymentSecret: DEPLOYMENT,
  posts: [row('a'), row('b')],
  deliveries: [delivery('a'), delivery('b')],
};
const invariants = (more: Partial<History>) => [
  ...new Set(violationsOf({ ...good, ...more }).map(({ invariant }) => invariant)),
];
/** The post `a` alone is forged; `b` stays as it is. */
const forged = {
  posts: (more: object) => [row('a', more), row('b')],
  received: (...more: History['received'][number][]) => [...more, received('b')],
};

describe('the checker of histories', () => {
  test('takes a good history', () => expect(violationsOf(good)).toEqual([]));

  test.each<[string, Partial<History>]>([
    [
      'a failure with a reason',
      {
        posts: forged.posts({ state: 'ERROR', error: 'The network refused it' }),
        ledger: [noted(1, 'a', 60, { accepted: false, answered: 'error' }), noted(2, 'b', 160)],
        received: forged.received(),
      },
    ],
    [
      'an unconfirmed post that the network has',
      {
        posts: forged.posts({ state: 'ERROR', detail: 'unconfirmed', error: 'Nobody knows' }),
        received: forged.received(),
      },
    ],
    [
      'a cancelled post',
      {
        posts: forged.posts({ state: 'QUEUE', deleted: true }),
        ledger: [noted(2, 'b', 160)],
        received: forged.received(),
      },
    ],
    ['a refused create', { created: [...good.created, { ...created('c', 0), status: 429, postId: undefined }] }],
    [
      'a create without an answer whose post went out',
      {
        created: [...good.created, { ...created('c', 0), status: 0, postId: undefined }],
        ledger: [...good.ledger, noted(3, 'c', 300)],
      },
    ],
    [
      'a second try after a failure',
      {
        ledger: [noted(1, 'a', 60, { accepted: false, answered: 'error' }), noted(2, 'b', 160), noted(3, 'a', 10_060)],
        posts: forged.posts({ attempt: 2 }),
      },
    ],
    [
      'a post that became due first and was created too late to go first',
      { created: [created('a', 0), { ...created('b', -100), answeredAt: at(40) }] },
    ],
    [
      'a webhook given up after three attempts',
      {
        received: forged.received(received('a', { status: 500 })),
        deliveries: [delivery('a', { attempts: 3 }), delivery('b')],
      },
    ],
    ['a delivery repeated under its id', { received: forged.received(received('a', { status: 500 }), received('a')) }],
    [
      'a webhook of another channel that is told nothing',
      { hooks: [...good.hooks, { id: 'other', secret: SECRET, channelIds: ['two'] }] },
    ],
  ])('takes %s', (_, more) => expect(violationsOf({ ...good, ...more })).toEqual([]));

  test.each<[string, string, Partial<History>]>([
    ['I1', 'a post that has vanished', { posts: [row('b')], received: forged.received() }],
    [
      'I1',
      'a post that still waits',
      { posts: forged.posts({ state: 'QUEUE', detail: 'publishing' }), received: forged.received() },
    ],
    [
      'I1',
      'a failure without a reason',
      { posts: forged.posts({ state: 'ERROR' }), ledger: [noted(2, 'b', 160)], received: forged.received() },
    ],
    ['I1', 'a post called published that the network does not have', { ledger: [noted(2, 'b', 160)] }],
    [
      'I1',
      'a post called failed that the network has',
      { posts: forged.posts({ state: 'ERROR', error: 'Refused' }), received: forged.received() },
    ],
    ['I1', 'a post published as another one', { posts: forged.posts({ releaseId: 'there-b' }) }],
    ['I2', 'a post accepted twice', { ledger: [...good.ledger, noted(3, 'a', 300)] }],
    [
      'I2',
      'a second send that only the key made harmless',
      { ledger: [...good.ledger, noted(3, 'a', 300, { accepted: false, answered: 'repeated' })] },
    ],
    ['I2', 'a post that nobody was told of', { ledger: [...good.ledger, noted(3, 'c', 300)] }],
    [
      'I2',
      'a post sent without a key',
      { ledger: [...good.ledger, noted(3, 'a', 300, { idempotencyKey: null, accepted: false })] },
    ],
    ['I3', 'two posts out of order', { created: [created('a', 0), created('b', -100)] }],
    [
      'I3',
      'two requests of one channel in flight',
      {
        created: [created('a', 0), { ...created('b', 100), latencyMs: 120 }],
        ledger: [noted(1, 'a', 250), noted(2, 'b', 260)],
      },
    ],
    ['I4', 'a post before its time', { ledger: [noted(1, 'a', 40), noted(2, 'b', 160)] }],
    ['I6', 'a published post that was not announced', { received: forged.received() }],
    ['I6', 'one that was refused once and never again', { received: forged.received(received('a', { status: 500 })) }],
    ['I6', 'two ids for one event', { received: forged.received(received('a'), received('a', { id: 'msg_again' })) }],
    ['I6', 'one id for two events', { received: [received('a', { id: 'msg_1' }), received('b', { id: 'msg_1' })] }],
    [
      'I6',
      'two deliveries of one event',
      { deliveries: [delivery('a'), delivery('a', { id: 'again' }), delivery('b')] },
    ],
    [
      'I6',
      'the signature of another webhook',
      {
        received: forged.received(received('a', { secret: `whsec_${Buffer.from('another key').toString('base64')}` })),
      },
    ],
    [
      'I6',
      'the signature of another deployment',
      { received: forged.received(received('a', { deployment: 'another' })) },
    ],
    [
      'I6',
      'a body that was changed on the way',
      { received: forged.received({ ...received('a'), body: Buffer.from(`${received('a').body.toString()} `) }) },
    ],
    [
      'I6',
      'news of a post that is not out',
      { posts: forged.posts({ state: 'ERROR', error: 'Refused' }), ledger: [noted(2, 'b', 160)] },
    ],
  ])('%s: refuses %s', (invariant, _, more) => expect(invariants(more)).toEqual([invariant]));
});
