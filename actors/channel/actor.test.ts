import { expect, test } from '@jest/globals';
import type { Next, AttemptOutcome, ClaimedPost, PendingLookUp } from '../../src/publishing/posts/index.ts';
import { turnOf } from '../../test/support/worlds/turn.ts';
import channel, { type ChannelNeeds } from './actor.ts';
import { channelActor } from './contract.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const claimed = {
  orgId: 'o',
  channelId: 'c',
  postId: 'p',
  attempt: 1,
  incarnation: 'h',
  channel: { credentials: 'v2:' },
} as ClaimedPost;
const idle: Next = { kind: 'idle' };

/** A channel whose rows answer these, one after the other. */
function channelOf(
  nexts: Next[],
  outcome: AttemptOutcome = { kind: 'published', release: { id: 'r', url: 'u' } },
  lookUp?: PendingLookUp,
  behind: ClaimedPost[] = [],
  followed?: string,
  earlier: Date[] = [],
  nextStep?: Date,
) {
  const did: string[] = [];
  const held = { enable: true, disable: true, remove: true, needsLogin: true };
  const move = (name: keyof typeof held) => async (orgId: string, id: string) => {
    did.push(`${name} ${orgId} ${id}`);
    return held[name];
  };
  const needs: ChannelNeeds = {
    clock: {
      now: () => NOW,
      in: (ms) => new Date(NOW.getTime() + ms),
      monotonic: () => 0,
      sleep: async (ms) => void did.push(`sleep ${ms}`),
      every: () => ({ [Symbol.dispose]: () => {} }),
    },
    posts: {
      claimNext: async () => (did.push('claim'), nexts.shift() ?? idle),
      findEarlierDue: async () => earlier.shift(),
      sendPost: async () => (did.push('send'), outcome),
      settleAndClaim: async (_claimed, { kind }) => (
        did.push(`settle ${kind}`),
        { lookUp, followed, next: behind.shift() }
      ),
    },
    channels: {
      enable: move('enable'),
      disable: move('disable'),
      remove: move('remove'),
      needsLogin: move('needsLogin'),
    },
    followUps: { follow: async (orgId, postId) => (did.push(`follow ${orgId} ${postId}`), nextStep) },
  };
  return { ...turnOf(channelActor, 'o:c', needs), did, held };
}

test('a due post is claimed in the turn, sent and settled beside it, and the next one is claimed after', async () => {
  const { turn, log, did, besides } = channelOf([
    { kind: 'claimed', claimed },
    { kind: 'claimed', claimed },
  ]);
  await channel.spec.reminders.due(turn, undefined);
  expect(did).toEqual(['claim']);
  await besides();
  expect(did).toEqual(['claim', 'send', 'settle published', 'claim', 'send', 'settle published', 'claim']);
  expect(log).toEqual([]);
});

test('what the commit of a result has claimed is sent without another claim', async () => {
  const { turn, did, besides } = channelOf([{ kind: 'claimed', claimed }], undefined, undefined, [claimed, claimed]);
  await channel.spec.methods.wake({}, turn);
  await besides();
  expect(did).toEqual([
    'claim',
    'send',
    'settle published',
    'send',
    'settle published',
    'send',
    'settle published',
    'claim',
  ]);
});

test('a nudge that finds nothing to take does nothing', async () => {
  const { turn, log, did, besides } = channelOf([]);
  await channel.spec.reminders.due(turn, undefined);
  await besides();
  expect([log, did]).toEqual([[], ['claim']]);
});

test('what is not due yet is slept through when it is near, else waits for its reminder', async () => {
  const near = channelOf([
    { kind: 'early', dueAt: NOW, missingMs: 400, remind: true },
    { kind: 'claimed', claimed },
  ]);
  await channel.spec.methods.wake({}, near.turn);
  await near.besides();
  expect(near.did).toEqual(['claim', 'sleep 400', 'claim', 'send', 'settle published', 'claim']);

  const far = channelOf([{ kind: 'early', dueAt: new Date(NOW.getTime() + 90_000), missingMs: 90_000, remind: true }]);
  await channel.spec.methods.wake({}, far.turn);
  await far.besides();
  expect([far.did, far.log]).toEqual([['claim'], ['remind Channel/o:c due 2026-01-01T00:01:30.000Z']]);
});

test('a post that was added since the claim keeps its earlier reminder', async () => {
  const early: Next = { kind: 'early', dueAt: new Date(NOW.getTime() + 90_000), missingMs: 90_000, remind: true };
  const added = [new Date(NOW.getTime() + 60_000), new Date(NOW.getTime() + 30_000)];
  const { turn, log } = channelOf([early], undefined, undefined, [], undefined, added);
  await channel.spec.methods.wake({}, turn);
  expect(log).toEqual(
    ['2026-01-01T00:01:30.000Z', '2026-01-01T00:01:00.000Z', '2026-01-01T00:00:30.000Z'].map(
      (due) => `remind Channel/o:c due ${due}`,
    ),
  );
});

test('beyond the horizon no reminder is set', async () => {
  const { turn, log } = channelOf([{ kind: 'early', dueAt: NOW, missingMs: 10 ** 9, remind: false }]);
  await channel.spec.methods.wake({}, turn);
  expect(log).toEqual([]);
});

test('a lost answer is left to the look-up of the post', async () => {
  const { turn, log, did, besides } = channelOf(
    [{ kind: 'claimed', claimed }],
    { kind: 'lost', message: 'no answer' },
    { about: 'unconfirmed', due: NOW },
  );
  await channel.spec.methods.wake({}, turn);
  await besides();
  expect(did).toEqual(['claim', 'send', 'settle lost', 'claim']);
  expect(log).toEqual(['remind Post/o:p look-up 2026-01-01T00:00:00.000Z']);
});

test('a refused login stops the channel before its slot is free', async () => {
  const { turn, log, did, besides } = channelOf([{ kind: 'claimed', claimed }], {
    kind: 'reauthorize',
    message: 'expired',
  });
  await channel.spec.methods.wake({}, turn);
  await besides();
  expect(log).toEqual([]);
  expect(did).toEqual(['claim', 'send', 'needsLogin o c', 'settle reauthorize', 'claim']);
});

test('a host that cannot send takes nothing more', async () => {
  const { turn, did, besides } = channelOf(
    [
      { kind: 'claimed', claimed },
      { kind: 'claimed', claimed },
    ],
    { kind: 'not-sent' },
  );
  await channel.spec.methods.wake({}, turn);
  await besides();
  expect(did).toEqual(['claim', 'send', 'settle not-sent']);
});

test.each(['disable', 'remove'] as const)('%s forgets the reminder, and only when it held', async (name) => {
  const { turn, log, did, held } = channelOf([]);
  await channel.spec.methods[name]({}, turn);
  expect([did, log]).toEqual([[`${name} o c`], ['forget due']]);
  held[name] = false;
  await channel.spec.methods[name]({}, turn);
  expect(log).toEqual(['forget due']);
});

test('a channel that is enabled looks at once', async () => {
  const { turn, did, held } = channelOf([]);
  await channel.spec.methods.enable({}, turn);
  expect(did).toEqual(['enable o c', 'claim']);
  held.enable = false;
  await channel.spec.methods.enable({}, turn);
  expect(did).toEqual(['enable o c', 'claim', 'enable o c']);
});

test('what follows a published post is done here, beside the next post', async () => {
  const { turn, log, did, besides } = channelOf([{ kind: 'claimed', claimed }], undefined, undefined, [], 'root');
  await channel.spec.reminders.due(turn, undefined);
  await besides();
  expect([did, log]).toEqual([['claim', 'send', 'settle published', 'claim', 'follow o root'], []]);
});

test('the next step of what follows a post is a reminder of that post, owned by the organization', async () => {
  const { turn, log, hints, besides } = channelOf(
    [{ kind: 'claimed', claimed }],
    undefined,
    undefined,
    [],
    'root',
    [],
    NOW,
  );
  await channel.spec.reminders.due(turn, undefined);
  await besides();
  expect([log, hints]).toEqual([['remind Post/o:root follow-up 2026-01-01T00:00:00.000Z'], [{ owner: 'o' }]]);
});
