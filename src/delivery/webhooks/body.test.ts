import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Fact } from '../../platform/outbox/index.ts';
import { bodyOfFact, channelOfFact, isHeard } from './body.ts';
import { EVENT_TYPES, type WebhookTopic } from './events.ts';
import { pingBody, TEST_PING } from './rules.ts';

// The fixture has a body a line, as receivers get it, byte by byte (W1).
const lines = readFileSync(new URL('../../../test/fixtures/webhooks/bodies.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter(Boolean);
const bytes = Map.groupBy(lines, (line) => (JSON.parse(line) as { event: string }).event);
const post = {
  channelId: 'i_1',
  providerId: 'x',
  channelName: 'Acme',
  rootPostId: null,
  groupId: 'g_1',
  content: '<p>Grüße "☃"</p>',
  publishDate: '2026-09-01T10:00:00+00:00',
};
const channel = { providerId: 'x', name: 'Acme' };
const url = 'https://x.com/acme/status/1';
const facts: [string, WebhookTopic, object][] = [
  ['post.published', 'post.published', { ...post, url }],
  ['post.scheduled', 'post.scheduled', { ...post, detail: 'scheduled' }],
  [
    'post.failed',
    'post.failed',
    {
      ...post,
      detail: null,
      errorKind: 'validation',
      error: 'Text is longer than 280 characters',
      attempts: 1,
      retryable: false,
    },
  ],
  [
    'post.retrying',
    'post.retrying',
    {
      ...post,
      detail: 'retrying',
      errorKind: 'rate_limited',
      error: 'Too many requests',
      attempt: 2,
      nextAttemptAt: '2026-09-01T12:05:00+02:00',
    },
  ],
  ['post.late', 'post.late', { ...post, url, latenessMs: 61_250 }],
  ['post.unconfirmed', 'post.unconfirmed', { ...post, state: 'ERROR', detail: null, error: 'The answer was lost' }],
  ['post.deleted', 'post.deleted', { ...post, state: 'DRAFT', detail: null }],
  ['channel.connected', 'channel.connected', channel],
  ['channel.refresh_needed', 'channel.refresh_needed', { ...channel, reason: 'The login was refused' }],
  ['channel.disabled', 'channel.disabled', { ...channel, reason: 'plan' }],
  ['channel.deleted', 'channel.deleted', { ...channel, reason: 'person' }],
  ['post.missed', 'post.missed', { ...post, state: 'QUEUE', detail: 'scheduled', policy: 'publish' }],
  ['post.paused', 'post.paused', { ...post, state: 'QUEUE', detail: 'paused', reason: 'brake' }],
  ['post.resumed', 'post.resumed', { ...post, state: 'QUEUE', detail: 'scheduled', reason: 'instance' }],
  [
    'post.approval_requested',
    'post.approval_requested',
    { ...post, state: 'DRAFT', detail: 'awaiting_approval', by: 'u_1', reason: null },
  ],
  ['post.approved', 'post.approved', { ...post, state: 'QUEUE', detail: 'scheduled', by: 'u_1', reason: null }],
  ['post.rejected', 'post.rejected', { ...post, state: 'DRAFT', detail: null, by: 'u_1', reason: 'Too long' }],
  ['first_comment.posted', 'first_comment.posted', { ...post, error: null }],
  ['first_comment.failed', 'first_comment.failed', { ...post, error: 'Comments are closed' }],
  [
    'channel.token_expiring',
    'channel.token_expiring',
    { ...channel, reason: '7_days', expiresAt: '2026-09-08T10:00:00.000Z' },
  ],
  [
    'media.job_finished',
    'media.job_ended',
    {
      userId: null,
      operation: 'image',
      providerId: 'x',
      state: 'done',
      fileIds: ['f_1', 'f_2'],
      path: 'https://a.example/uploads/x/f_1.png',
      error: null,
    },
  ],
];
const factOf = (topic: WebhookTopic, payload: object, entityId = 'e_1') =>
  ({ id: '1', orgId: 'o_1', topic, entityId, payload, at: new Date('2026-09-01T10:00:01.412Z') }) as Fact<WebhookTopic>;

describe('bodyOfFact', () => {
  test.each(facts)(
    'writes %s as the bytes of the fixture [S121, S123, S137, W1, WH13, WH14]',
    (event, topic, payload) => {
      expect(bodyOfFact(factOf(topic, payload))).toBe(bytes.get(event)![0]);
    },
  );

  const COMMENT = { channelId: 'i_1', postId: 'p_1', content: 'Nice', authorName: 'Ann' };
  const SWEEP = { providerId: 'x', name: 'Acme', count: 12, isBatch: true, makers: [], content: '', authorName: '' };
  // another order of keys, as the outbox answers them
  const ANOMALY = {
    topPostId: 'p_1',
    date: '2026-08-31',
    deviation: 4.2,
    baseline: 1200,
    value: 9100,
    direction: 'spike',
    metric: 'impressions',
    integrationName: 'Acme',
    integrationId: 'i_1',
  };
  const flat: [string, number, WebhookTopic, object, string][] = [
    ['comment.new', 0, 'comment.new', COMMENT, 'c_1'],
    ['comment.new', 1, 'comment.synced', { ...SWEEP, minutes: 30 }, 'i_1'],
    ['comment.new', 2, 'comment.synced', { ...SWEEP, minutes: 1_440 }, 'i_1'],
    ['comment.reply', 0, 'comment.reply', { ...COMMENT, content: 'Thanks', authorName: 'Acme' }, 'c_2'],
    ['analytics.snapshot_complete', 0, 'analytics.snapshot_complete', { day: '2026-08-31' }, 'o_1'],
    ['analytics.anomaly_detected', 0, 'analytics.anomaly_detected', { anomalies: [ANOMALY] }, 'o_1'],
  ];
  test.each(flat)(
    'writes %s flat, as the bytes of line %i of its fixture [WH16, WH17, WH18, WH19, WH20, WH21]',
    (event, line, topic, payload, entityId) => {
      expect(bodyOfFact(factOf(topic, payload, entityId))).toBe(bytes.get(event)![line]);
    },
  );

  test('a ping is the bytes of the fixture [WH15, W1]', () => {
    expect(pingBody(new Date('2026-09-01T10:00:01.412Z'), TEST_PING)).toBe(bytes.get('ping')![0]);
  });

  test('has a line of the fixture for every event that a webhook can ask for, and for the ping', () => {
    const told = [...facts, ...flat].map(([event]) => event);
    const names = EVENT_TYPES.map(({ event }) => event as string);
    expect([...new Set(told)].toSorted()).toEqual(names.toSorted());
    expect([...bytes.keys()].toSorted()).toEqual([...names, 'ping'].toSorted());
  });

  test('a sweep whose comments are told one by one sends nothing of its own [WH17]', () => {
    const told = (isBatch: boolean) => isHeard(factOf('comment.synced', { ...SWEEP, minutes: 30, isBatch }));
    expect([told(true), told(false)]).toEqual([true, false]);
  });

  test('a media job that failed names no file, even where it has made some', () => {
    const failed = { ...facts.at(-1)![2], state: 'failed', path: null, error: 'No room' };
    expect(JSON.parse(bodyOfFact(factOf('media.job_ended', failed))).data).toEqual({
      jobId: 'e_1',
      state: 'failed',
      fileId: null,
      path: null,
      error: 'No room',
    });
  });
});

describe('channelOfFact', () => {
  test('answers no channel for comments and analytics, so that webhooks with a list of channels are not told [W7]', () => {
    expect(channelOfFact(factOf('channel.token_expiring', channel, 'i_9'))).toBe('i_9');
    expect(channelOfFact(factOf('post.paused', post))).toBe('i_1');
    expect(channelOfFact(factOf('comment.new', { channelId: 'i_1' }))).toBeNull();
    expect(channelOfFact(factOf('analytics.snapshot_complete', {}))).toBeNull();
  });
});
