import { z } from 'zod';
import { instant } from '../../http/fields.ts';
import { State } from '../posts/shape.ts';

// The bodies of deliveries as the document describes them; `src/delivery/webhooks/body.ts` writes them.

const text = z.string().nullable();
const head = {
  postId: z.string(),
  integrationId: z.string(),
  providerIdentifier: z.string(),
  integrationName: z.string(),
  content: z.string(),
};
const post = { ...head, state: State, detail: text, publishDate: instant, group: z.string() };
const channel = {
  integrationId: z.string(),
  providerIdentifier: z.string(),
  integrationName: z.string(),
  reason: text,
};
const failure = { errorKind: text, error: text };
const decision = { by: text, reason: text };
const error = { error: text };

/** Event, time of the event, and what it is about. */
const signed = <Event extends string, Data extends z.ZodRawShape>(event: Event, data: Data) =>
  z.strictObject({ event: z.literal(event), timestamp: instant, data: z.strictObject(data) });

const Anomaly = z.strictObject({
  integrationId: z.string(),
  integrationName: z.string(),
  metric: z.string(),
  direction: z.enum(['spike', 'drop']),
  value: z.number(),
  baseline: z.number(),
  deviation: z.number(),
  date: z.iso.date(),
  topPostId: text,
});

/** The body of each event; those without `data` are flat, and neither signed nor tried again. */
export const webhookBodies: Readonly<Record<string, z.ZodType>> = {
  ping: signed('ping', { message: z.string() }),
  'post.published': signed('post.published', {
    ...head,
    url: z.string(),
    state: z.literal('PUBLISHED'),
    publishDate: instant,
  }),
  'post.scheduled': signed('post.scheduled', post),
  'post.failed': signed('post.failed', { ...post, ...failure, attempts: z.int(), retryable: z.boolean() }),
  'post.retrying': signed('post.retrying', { ...post, ...failure, attempt: z.int(), nextAttemptAt: instant }),
  'post.late': signed('post.late', { ...post, url: z.string(), latenessMs: z.number() }),
  'post.missed': signed('post.missed', { ...post, policy: z.enum(['publish', 'ask', 'drop']) }),
  'post.unconfirmed': signed('post.unconfirmed', { ...post, ...error }),
  'post.paused': signed('post.paused', { ...post, reason: z.enum(['channel', 'brake', 'billing']) }),
  'post.resumed': signed('post.resumed', { ...post, reason: z.enum(['channel', 'brake', 'billing']) }),
  'post.approval_requested': signed('post.approval_requested', { ...post, ...decision }),
  'post.approved': signed('post.approved', { ...post, ...decision }),
  'post.rejected': signed('post.rejected', { ...post, ...decision }),
  'post.deleted': signed('post.deleted', post),
  'first_comment.posted': signed('first_comment.posted', { ...post, ...error }),
  'first_comment.failed': signed('first_comment.failed', { ...post, ...error }),
  'channel.connected': signed('channel.connected', channel),
  'channel.refresh_needed': signed('channel.refresh_needed', channel),
  'channel.token_expiring': signed('channel.token_expiring', { ...channel, expiresAt: instant }),
  'channel.disabled': signed('channel.disabled', channel),
  'channel.deleted': signed('channel.deleted', channel),
  'media.job_finished': signed('media.job_finished', {
    jobId: z.string(),
    state: z.string(),
    fileId: text,
    path: text,
    ...error,
  }),
  'comment.new': z.union([
    z.strictObject({
      event: z.literal('comment.new'),
      postId: z.string(),
      commentId: z.string(),
      content: z.string(),
      authorName: z.string(),
      integrationId: z.string(),
    }),
    z.strictObject({
      event: z.literal('comment.new'),
      batchSize: z.int(),
      timeframe: z.string().meta({ description: 'In minutes or hours, such as 30m or 24h.', examples: ['30m'] }),
    }),
  ]),
  'comment.reply': z.strictObject({
    event: z.literal('comment.reply'),
    postId: z.string(),
    commentId: z.string(),
    content: z.string(),
    authorName: z.string(),
  }),
  'analytics.snapshot_complete': z.strictObject({
    event: z.literal('analytics.snapshot_complete'),
    orgId: z.string(),
    timestamp: instant,
  }),
  'analytics.anomaly_detected': z.strictObject({
    event: z.literal('analytics.anomaly_detected'),
    orgId: z.string(),
    anomalies: z.array(Anomaly),
    timestamp: instant,
  }),
};
