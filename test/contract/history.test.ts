import { describe, expect, test } from '@jest/globals';
import {
  SECRET,
  at,
  created,
  delivery,
  edit,
  forged,
  good,
  invariants,
  noted,
  received,
  row,
} from '../support/processes/history/sample.ts';
import type { History } from '../support/processes/history/shape.ts';
import { violationsOf } from '../support/processes/history.ts';

// The judge of the chaos tests, judged: a good history passes, and each forged one is refused under the right name.

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
    ['I4', 'a post before the time that it was moved to', { edited: [edit({ postId: 'b', due: at(10_000) })] }],
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
