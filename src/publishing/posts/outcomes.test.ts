import { describe, expect, test } from '@jest/globals';
import type { AttemptOutcome, ClaimedPost } from './dispatch/attempt.ts';
import { lookUpOf, settle } from './outcomes.ts';
import { lookUpDelay } from './rules.ts';

const claimed = (more: Partial<ClaimedPost> = {}) =>
  ({
    orgId: 'o',
    channelId: 'c',
    postId: 'p',
    attempt: 1,
    incarnation: 'h',
    attemptsFailed: 0,
    lookUps: 0,
    ...more,
  }) as ClaimedPost;
const said = (outcome: AttemptOutcome, more: Partial<ClaimedPost> = {}, asked?: 'unconfirmed' | 'processing') => {
  const { state, detail, errorKind, slot, failed, topic, dueInMs, lookUpInMs } = settle(claimed(more), outcome, asked);
  return { state, detail, errorKind, slot, failed, topic, dueInMs, lookUpInMs };
};

describe('what an outcome writes', () => {
  const failure = (
    kind: 'rate_limited' | 'unavailable' | 'rejected' | 'unsupported' | 'exhausted' | 'reauthorize' | 'lost',
    more = {},
  ) => ({
    kind,
    message: 'm',
    ...more,
  });
  test('published frees the slot and is announced', () =>
    expect(said({ kind: 'published', release: { id: 'r', url: 'u' } })).toEqual({
      state: 'PUBLISHED',
      detail: null,
      errorKind: null,
      slot: 'free',
      failed: false,
      topic: 'post.published',
      dueInMs: null,
      lookUpInMs: null,
    }));
  test.each([
    ['rejected', 'validation'],
    ['unsupported', 'unsupported'],
    ['exhausted', 'billing_required'],
  ] as const)('%s is final', (kind, errorKind) =>
    expect(said(failure(kind))).toMatchObject({
      state: 'ERROR',
      detail: null,
      errorKind,
      slot: 'free',
      failed: true,
      topic: 'post.failed',
    }),
  );
  test('a refusal of what the network has already is duplicate content, a fault of its own server_error [S102]', () => {
    const last = { attemptsFailed: 6 };
    expect(
      [
        said(failure('rejected', { reason: 'duplicate' })),
        said(failure('unavailable', { reason: 'server' }), last),
        said(failure('unavailable', { reason: 'server' })),
        said(failure('unavailable', { reason: 'server', mediaFault: true }), last),
        said(failure('lost', { reason: 'server' })), // it may be out all the same
        said(failure('rejected', { reason: 'server' })),
      ].map(({ state, errorKind }) => `${state} ${errorKind}`),
    ).toEqual([
      'ERROR duplicate_content',
      'ERROR server_error',
      'QUEUE server_error',
      'ERROR media_processing',
      'QUEUE unconfirmed',
      'ERROR validation',
    ]);
  });
  test('media that cannot be used says so', () =>
    expect(said(failure('rejected', { mediaFault: true }))).toMatchObject({
      state: 'ERROR',
      errorKind: 'media_processing',
    }));
  test('a rate limit waits as long as it was told', () =>
    expect(said(failure('rate_limited', { retryAfterMs: 5_000 }))).toMatchObject({
      state: 'QUEUE',
      detail: 'retrying',
      dueInMs: 5_000,
      failed: true,
      slot: 'free',
      topic: 'post.retrying',
    }));
  test('the last failure is ERROR', () =>
    expect(said(failure('unavailable'), { attemptsFailed: 6 })).toMatchObject({
      state: 'ERROR',
      errorKind: 'network',
    }));
  test('a refused login pauses and does not count', () =>
    expect(said(failure('reauthorize'))).toMatchObject({
      state: 'QUEUE',
      detail: 'paused',
      failed: false,
      slot: 'free',
    }));
  test('a lost answer holds the slot and is asked at once', () =>
    expect(said(failure('lost'))).toMatchObject({
      state: 'QUEUE',
      detail: 'unconfirmed',
      slot: 'hold',
      lookUpInMs: 0,
      failed: false,
    }));
  test('asked again, the slot stays as it was said', () =>
    expect(said(failure('lost'), { lookUps: 1 }, 'unconfirmed')).toMatchObject({
      detail: 'unconfirmed',
      slot: 'keep',
      lookUpInMs: 4_000,
    }));
  test('nobody asks for ever', () => {
    expect(lookUpDelay(14)).toBeUndefined();
    expect(said(failure('lost'), { lookUps: 14 }, 'unconfirmed')).toMatchObject({
      state: 'ERROR',
      detail: 'unconfirmed',
      errorKind: 'unconfirmed',
      slot: 'free',
      topic: 'post.unconfirmed',
    });
  });
  test('absent is sent again at once', () =>
    expect(said({ kind: 'absent' }, {}, 'unconfirmed')).toMatchObject({
      state: 'QUEUE',
      detail: 'retrying',
      dueInMs: 0,
      slot: 'free',
    }));
  describe('while a lost request may still arrive', () => {
    const absent = { kind: 'absent', mayArriveMs: 3_000 } as const;
    const lookedUp = (more: Partial<ClaimedPost> = {}) => settle(claimed(more), absent, 'unconfirmed');
    test('absent is sent again at once, and stays unconfirmed in its slot', () => {
      expect(said(absent, {}, 'unconfirmed')).toEqual({
        state: 'QUEUE',
        detail: 'unconfirmed',
        errorKind: 'unconfirmed',
        slot: 'keep',
        failed: true,
        topic: 'post.retrying',
        dueInMs: 0,
        lookUpInMs: 3_050,
      });
      expect(lookUpOf(lookedUp())).toBeUndefined(); // its channel is woken
    });
    test('it is planned, told and counted once', () => {
      const { slot, failed, topic, dueInMs } = lookedUp({ isResend: true });
      expect({ slot, failed, topic, dueInMs }).toEqual({ slot: 'keep', failed: false, topic: null, dueInMs: null });
      expect(lookUpOf(lookedUp({ isResend: true }))).toBeUndefined();
      expect(said({ kind: 'absent' }, { isResend: true, attemptsFailed: 6 }, 'unconfirmed')).toMatchObject({
        detail: 'retrying',
        failed: false,
      });
    });
    test('it is not sent for ever, and has not failed before it was asked for', () =>
      expect(said(absent, { attemptsFailed: 6 }, 'unconfirmed')).toMatchObject({
        detail: 'unconfirmed',
        dueInMs: null,
        topic: null,
      }));
    test.each([
      [failure('rejected'), null, 70_000],
      [failure('reauthorize'), null, 70_000],
      [failure('rate_limited', { retryAfterMs: 5_000 }), 5_000, 70_000],
      [{ kind: 'paced', againMs: 7_000 } as const, 7_000, 70_000],
      [{ kind: 'not-sent' } as const, 0, 5_000],
    ])('a second request that ends as %j leaves it unconfirmed', (outcome, dueInMs, lookUpInMs) =>
      expect(said(outcome, { isResend: true })).toMatchObject({
        state: 'QUEUE',
        detail: 'unconfirmed',
        slot: 'hold',
        topic: null,
        dueInMs,
        lookUpInMs,
      }),
    );
    test('one that was taken or lost counts as any other', () => {
      expect(said({ kind: 'processing', processingMs: 7_000 }, { isResend: true }).detail).toBe('processing');
      expect(said(failure('lost'), { isResend: true })).toMatchObject({ lookUpInMs: 0, slot: 'hold' });
    });
  });
  test.each([
    [{ kind: 'paced', againMs: 7_000 } as const, true],
    [{ kind: 'paced', againMs: 7_000, of: 'posts' } as const, true],
    [{ kind: 'paced', againMs: 7_000, of: 'comments' } as const, false],
    [{ kind: 'circuit_open', againMs: 7_000 } as const, true],
    [{ kind: 'preparing', againMs: 7_000 } as const, false],
    [failure('rate_limited'), true],
    [failure('unavailable'), false],
  ])('the channel rests after %j: %s', (outcome, rests) => expect(settle(claimed(), outcome).rests).toBe(rests));
  test('handed back is as it was', () => {
    expect(said({ kind: 'not-sent' })).toMatchObject({
      detail: 'scheduled',
      slot: 'free',
      failed: false,
      dueInMs: null,
    });
    expect(said({ kind: 'not-sent' }, { attemptsFailed: 2 })).toMatchObject({ detail: 'retrying' });
  });
  test('processing frees the slot and is polled', () => {
    const settlement = settle(claimed(), { kind: 'processing', processingMs: 7_000 });
    expect([settlement.slot, lookUpOf(settlement), settlement.lookUpInMs]).toEqual(['free', 'processing', 7_000]);
  });
});
