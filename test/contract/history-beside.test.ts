import { describe, expect, test } from '@jest/globals';
import {
  at,
  canary,
  comment,
  created,
  edit,
  entry,
  event,
  followUp,
  forged,
  good,
  invariants,
  mail,
  noted,
  row,
} from '../support/processes/history/sample.ts';
import { type History, NO_MONEY } from '../support/processes/history/shape.ts';
import { violationsOf } from '../support/processes/history.ts';

// As history.test.ts, for threads, changes, series, what follows a post, limits, money, other organizations and mails.

describe('the checker of histories, of what lies beside posts', () => {
  test.each<[string, Partial<History>]>([
    [
      'a thread with a first comment and a repost, whose series goes on',
      {
        created: forged.created({ texts: ['a', 'c'], firstComment: 'Well', repostedBy: ['two'], recurs: true }),
        posts: [
          ...good.posts,
          row('c', { rootId: 'a', groupId: 'group-a' }),
          row('d', { groupId: 'group-a', state: 'QUEUE', detail: 'scheduled' }),
        ],
        ledger: [
          noted(1, 'a', 60),
          noted(2, 'c', 70, { step: 'reply', replyTo: 'there-a' }),
          noted(3, 'b', 160),
          comment(4, 'comment'),
          comment(5, 'repost', { step: 'repost', account: 'two' }),
        ],
        followUps: [followUp(), followUp({ kind: 'post_plug', releaseId: 'there-repost' })],
      },
    ],
    [
      'a change of the text, another that was refused, and one without an answer',
      {
        created: forged.created({ texts: ['first'] }),
        edited: [
          edit({ text: 'second' }),
          edit({ text: 'third', status: 409 }),
          edit({ text: 'a', status: 0 }),
          edit({ postId: 'b', text: 'never compared', status: 409 }),
        ],
      },
    ],
    [
      'a post that was moved behind another one',
      { created: [created('a', 0), created('b', -100)], edited: [edit({ postId: 'b', due: at(100) })] },
    ],
    [
      'a deletion that was acknowledged',
      {
        posts: forged.posts({ state: 'QUEUE', deleted: true }),
        ledger: [noted(2, 'b', 160)],
        received: forged.received(),
        edited: [edit({ isDeleted: true })],
      },
    ],
    ['as many posts as the limit', { limits: [{ orgId: 'org', at: at(-2_000), max: 2 }] }],
    [
      'a payment event that was delivered three times, once without an answer',
      { money: { ...NO_MONEY, events: [event([0, false], [200, false], [200, true])] } },
    ],
    [
      'a balance that is the sum of its entries',
      {
        money: {
          ...NO_MONEY,
          entries: [entry('reservation', 9), entry('release', -9), entry('settlement', 7), entry('correction', -2)],
          balances: [{ window: 'org day', spent: 5, reserved: 0 }],
        },
      },
    ],
    [
      'a question about another organization that nobody answered',
      { canary: { ...canary, asked: [{ what: 'GET', status: 0, refusal: 404 }] } },
    ],
    [
      'a mail that arrives and is opened',
      { mails: [mail({ seen: ['queued', 'sent', 'opened', 'bounced'], told: ['delivered', 'bounced', 'opened'] })] },
    ],
  ])('takes %s', (_, more) => expect(violationsOf({ ...good, ...more })).toEqual([]));

  test.each<[string, string, Partial<History>]>([
    ['I5', 'a post above the limit', { limits: [{ orgId: 'org', at: at(-2_000), max: 1 }] }],
    [
      'I5',
      'a post above a limit that was lowered before it',
      {
        limits: [
          { orgId: 'org', at: at(-2_000), max: 9 },
          { orgId: 'org', at: at(-1_500), max: 1 },
        ],
      },
    ],
    [
      'I5',
      'a counter that is not what its rows are',
      { counters: [{ orgId: 'org', of: 'posts', counted: 1, rows: 2 }] },
    ],
    [
      'I7',
      'two first comments under one post',
      {
        created: forged.created({ firstComment: 'Well' }),
        ledger: [...good.ledger, comment(3, 'comment'), comment(4, 'another')],
        followUps: [followUp()],
      },
    ],
    [
      'I7',
      'a comment that was sent again, which only the key made harmless',
      {
        created: forged.created({ firstComment: 'Well' }),
        ledger: [
          ...good.ledger,
          comment(3, 'comment'),
          comment(4, 'comment', { accepted: false, answered: 'repeated' }),
        ],
        followUps: [followUp()],
      },
    ],
    [
      'I7',
      'a comment called done that the network does not have',
      { created: forged.created({ firstComment: 'Well' }), followUps: [followUp()] },
    ],
    ['I7', 'a first comment that was forgotten', { created: forged.created({ firstComment: 'Well' }) }],
    [
      'I7',
      'a repost that still waits',
      {
        created: forged.created({ repostedBy: ['two'] }),
        followUps: [followUp({ kind: 'post_plug', state: 'waiting', releaseId: null })],
      },
    ],
    ['I8', 'a payment event with two effects', { money: { ...NO_MONEY, events: [event([200, false], [200, false])] } }],
    ['I8', 'a payment event without an effect', { money: { ...NO_MONEY, events: [event([200, true])] } }],
    [
      'I8',
      'accounts that the same events left with different plans',
      {
        money: {
          ...NO_MONEY,
          left: [
            { account: 'ann', events: 'paid', left: 'PRO' },
            { account: 'bob', events: 'paid', left: 'STARTER' },
          ],
        },
      },
    ],
    [
      'I8',
      'a balance that is not the sum of its entries',
      {
        money: {
          ...NO_MONEY,
          entries: [entry('settlement', 7)],
          balances: [{ window: 'org day', spent: 14, reserved: 0 }],
        },
      },
    ],
    ['I8', 'entries without a balance', { money: { ...NO_MONEY, entries: [entry('reservation', 7)] } }],
    [
      'I9',
      'a row of another organization that was changed',
      { canary: { ...canary, after: { 'posts 1': 'not as it was' } } },
    ],
    ['I9', 'a row of another organization that is gone', { canary: { ...canary, after: {} } }],
    ['I9', 'a row that names one of another organization', { canary: { ...canary, named: ['posts 7'] } }],
    [
      'I9',
      'an answer with what another organization has',
      { canary: { ...canary, asked: [{ what: 'GET posts 1', status: 200, refusal: 404 }] } },
    ],
    [
      'I9',
      'a request in the name of another organization',
      { ledger: [...good.ledger, noted(3, 'x', 400, { account: 'apart', step: 'like' })] },
    ],
    ['I10', 'a webhook that has vanished', { written: [{ what: 'webhook', id: 'hook', isThere: false }] }],
    ['I10', 'a thread that has lost an item', { created: forged.created({ texts: ['a', 'c'] }) }],
    [
      'I10',
      'an item of a thread that is not out',
      {
        created: forged.created({ texts: ['a', 'c'] }),
        posts: [...good.posts, row('c', { rootId: 'a', groupId: 'group-a' })],
      },
    ],
    [
      'I10',
      'a post that was published as before its change',
      { created: forged.created({ texts: ['a'] }), edited: [edit({ text: 'second' })] },
    ],
    [
      'I10',
      'a change that was refused and published',
      { created: forged.created({ texts: ['first'] }), edited: [edit({ text: 'a', status: 409 })] },
    ],
    ['I10', 'a post that is there after its deletion', { edited: [edit({ isDeleted: true })] }],
    [
      'I10',
      'a post that was published after its deletion',
      {
        posts: forged.posts({ state: 'QUEUE', deleted: true }),
        received: forged.received(),
        edited: [edit({ isDeleted: true })],
      },
    ],
    ['I10', 'a series that does not go on', { created: forged.created({ recurs: true }) }],
    ['I11', 'a host that was started again by hand', { hands: ['host 1 was started again'] }],
    ['I12', 'a mail that is on its way again', { mails: [mail({ seen: ['queued', 'opened', 'delivered'] })] }],
    ['I12', 'a mail that is opened after it has come back', { mails: [mail({ seen: ['bounced', 'clicked'] })] }],
    [
      'I12',
      'a mail whose event was taken and lost',
      { mails: [mail({ seen: ['queued', 'sent'], told: ['delivered'] })] },
    ],
  ])('%s: refuses %s', (invariant, _, more) => expect(invariants(more)).toEqual([invariant]));
});
