import { expect, test } from '@jest/globals';
import type { AttemptOutcome, ClaimedPost, PendingLookUp, Preparation } from '../../src/publishing/posts/index.ts';
import { turnOf } from '../../test/support/worlds/turn.ts';
import post, { type PostNeeds } from './actor.ts';
import { postActor } from './contract.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const claimed = { orgId: 'o', channelId: 'c', postId: 'p', attempt: 1, incarnation: 'h' } as ClaimedPost;

function postOf({
  waits = true,
  outcome = { kind: 'absent' } as AttemptOutcome,
  next = undefined as PendingLookUp | undefined,
  followed = undefined as string | undefined,
  nextDue = undefined as Date | undefined,
} = {}) {
  const did: string[] = [];
  const changed = { state: 'QUEUE', publishDate: NOW };
  const needs: PostNeeds = {
    posts: {
      editPost: async (...call) => (did.push(`edit ${JSON.stringify(call)}`), changed),
      removePost: async (orgId, postId) => (did.push(`remove ${orgId} ${postId}`), followed),
      retryPost: async (...call) => void did.push(`retry ${JSON.stringify(call)}`),
      setRelease: async (...call) => (did.push(`release ${JSON.stringify(call)}`), { channelId: 'c', followed }),
      approvePost: async (...call) => void did.push(`approve ${JSON.stringify(call)}`),
      rejectPost: async (...call) => void did.push(`reject ${JSON.stringify(call)}`),
      requestApproval: async (...call) => void did.push(`request ${JSON.stringify(call)}`),
      findUnsettled: async (_orgId, _postId, detail) => (
        did.push(`findUnsettled ${detail}`),
        waits ? claimed : undefined
      ),
      lookUp: async (_claimed, about) => (did.push(`lookUp ${about}`), outcome),
      settleAttempt: async (_claimed, { kind }, asked) => (
        did.push(`settle ${kind} ${asked}`),
        { lookUp: next, followed }
      ),
      claimPreparation: async () => (did.push('claimPreparation'), waits ? (claimed as Preparation) : undefined),
      prepareAhead: async () => void did.push('prepareAhead'),
    },
    followUps: { follow: async (orgId, postId) => (did.push(`follow ${orgId} ${postId}`), nextDue) },
  };
  return { ...turnOf(postActor, 'o:p', needs), did };
}

type Turn = ReturnType<typeof postOf>['turn'];

test('a lost answer is looked up beside the turn before anything is sent again, and the channel goes on', async () => {
  const { turn, log, did, besides } = postOf();
  await post.spec.reminders['look-up'](turn, undefined);
  expect(did).toEqual(['findUnsettled unconfirmed']);
  await besides();
  expect(did).toEqual(['findUnsettled unconfirmed', 'lookUp unconfirmed', 'settle absent unconfirmed']);
  expect(log).toEqual(['Channel/o:c.wake {}']);
});

test('a network that did not say is asked again', async () => {
  const { turn, log, besides } = postOf({
    outcome: { kind: 'lost', message: 'm' },
    next: { about: 'unconfirmed', due: NOW },
  });
  await post.spec.reminders['look-up'](turn, undefined);
  await besides();
  expect(log).toEqual(['remind Post/o:p look-up 2026-01-01T00:00:00.000Z']);
});

test.each([
  [true, ['claimPreparation', 'prepareAhead']],
  [false, ['claimPreparation']],
])('a post is prepared beside the turn, only where nobody does: %s', async (waits, expected) => {
  const { turn, log, did, besides } = postOf({ waits });
  await post.spec.reminders.prepare(turn, undefined);
  expect(did).toEqual(['claimPreparation']);
  await besides();
  expect([did, log]).toEqual([expected, []]);
});

test('a post that was settled meanwhile is left alone', async () => {
  const { turn, log, did, besides } = postOf({ waits: false });
  await post.spec.reminders.poll(turn, undefined);
  await besides();
  expect([did, log]).toEqual([['findUnsettled processing'], []]);
});

test('what people do is one change each, of this post in this organization', async () => {
  const { turn, log, did } = postOf();
  await post.spec.methods.setDate({ date: NOW, action: 'schedule' }, turn);
  await post.spec.methods.setDate({ date: NOW, action: 'update' }, turn);
  await post.spec.methods.setStatus({ status: 'draft' }, turn);
  await post.spec.methods.cancel({}, turn);
  await post.spec.methods.retry({ confirm: true }, turn);
  await post.spec.methods.setRelease({ releaseId: 'r' }, turn);
  const by = { userId: 'u', schedulesFreely: false };
  await post.spec.methods.approve({ by, contentHash: 'h' }, turn);
  await post.spec.methods.reject({ by, reason: 'no' }, turn);
  await post.spec.methods.requestApproval({ by }, turn);
  const date = NOW.toISOString();
  expect(did).toEqual([
    `edit ["o","p",{"publishDate":"${date}","status":"schedule"}]`,
    `edit ["o","p",{"publishDate":"${date}"}]`,
    'edit ["o","p",{"status":"draft"}]',
    'remove o p',
    'retry ["o","p",{"confirm":true}]',
    'release ["o","p",{"releaseId":"r"}]',
    `approve ["o","p",${JSON.stringify({ by, contentHash: 'h' })}]`,
    `reject ["o","p",${JSON.stringify({ by, reason: 'no' })}]`,
    `request ["o","p",${JSON.stringify(by)}]`,
  ]);
  expect(log).toEqual(['Channel/o:c.wake {}']);
});

test('what follows a post is done beside the turn, and its next step is set', async () => {
  const { turn, log, hints, did, besides } = postOf({ nextDue: NOW });
  await post.spec.reminders['follow-up'](turn, undefined);
  expect(did).toEqual([]);
  await besides();
  expect([did, log]).toEqual([['follow o p'], ['remind Post/o:p follow-up 2026-01-01T00:00:00.000Z']]);
  expect(hints).toEqual([{ owner: 'o' }]);
});

test.each([
  ['cancel', (turn: Turn) => post.spec.methods.cancel({}, turn)],
  ['setRelease', (turn: Turn) => post.spec.methods.setRelease({ releaseId: 'r' }, turn)],
])('what follows the first post of a thread is done beside the turn that ends it, by %s', async (_, end) => {
  const { turn, did, besides } = postOf({ followed: 'root' });
  await end(turn);
  expect(did).toHaveLength(1);
  await besides();
  expect(did.slice(1)).toEqual(['follow o root']);
});

test('what follows a post can be asked for, without a reminder', async () => {
  const { turn, log, did, besides } = postOf();
  await post.spec.methods.followUp({}, turn);
  await besides();
  expect([did, log]).toEqual([['follow o p'], []]);
});

test('a post that a look-up has found is followed by what it asked for', async () => {
  const { turn, log, did, besides } = postOf({ followed: 'root' });
  await post.spec.reminders['look-up'](turn, undefined);
  await besides();
  expect(log).toEqual(['Channel/o:c.wake {}']);
  expect(did.at(-1)).toBe('follow o root');
});
