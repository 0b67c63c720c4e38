import { z } from 'zod';

const id = z.uuid();
/** As Postgres writes a `timestamptz` into JSON. */
const instant = z.iso.datetime({ offset: true });

/** A post as it was then, with its channel. The fact's entity is the post. */
const post = {
  channelId: id,
  providerId: z.string(),
  channelName: z.string(),
  /** Who made it; null: somebody who is gone, or a fact of an older release. */
  createdBy: id.nullable().default(null),
  /** The first item of the thread that it belongs to; null for a first item. */
  rootPostId: id.nullable(),
  groupId: z.string(),
  content: z.string(),
  publishDate: instant,
};
/** What a post waits for; a fact of an older release says nothing of it. */
const waitsFor = (usual: 'scheduled' | 'retrying') => z.string().nullable().default(usual);
/** A value of a day that stands out from the days before. */
const anomaly = z.strictObject({
  integrationId: id,
  integrationName: z.string(),
  metric: z.string(),
  direction: z.enum(['spike', 'drop']),
  value: z.number(),
  baseline: z.number(),
  deviation: z.number(),
  date: z.iso.date(),
  topPostId: id.nullable(),
});
/** A channel as it was then. The fact's entity is the channel. */
const channel = { providerId: z.string(), name: z.string() };
/** `url`: empty where nobody knows it. */
const released = { ...post, url: z.string() };
/** `error`: null where it is out. */
const firstComment = { ...post, error: z.string().nullable() };
/** `instance`: an operator has taken the organization out of use. */
const paused = {
  ...post,
  state: z.enum(['QUEUE']),
  detail: z.string().nullable(),
  reason: z.enum(['channel', 'brake', 'billing', 'instance']),
};
/** `by`: the user who asked or decided; null where nobody knows. */
const decided = {
  ...post,
  state: z.enum(['QUEUE', 'PUBLISHED', 'ERROR', 'DRAFT']),
  detail: z.string().nullable(),
  by: id.nullable(),
  reason: z.string().nullable(),
};
/** `authorName`: of a reply, the name of the channel. */
const comment = { channelId: id, postId: id, content: z.string(), authorName: z.string() };
const failed = { ...post, errorKind: z.string(), error: z.string() };

/**
 * Every topic with its payload: what listeners need, as it was when the fact was announced. They join no table of its
 * producer.
 */
export const facts = {
  'post.scheduled': z.strictObject({ ...post, detail: waitsFor('scheduled') }),
  'post.published': z.strictObject(released),
  'post.late': z.strictObject({ ...released, latenessMs: z.number() }),
  'post.retrying': z.strictObject({
    ...failed,
    detail: waitsFor('retrying'),
    attempt: z.int(),
    nextAttemptAt: instant,
  }),
  'post.failed': z.strictObject({
    ...failed,
    detail: z.enum(['missed']).nullable(),
    attempts: z.int(),
    retryable: z.boolean(),
  }),
  /** It was due while the service was down, and `policy` of the organization says what becomes of it. */
  'post.missed': z.strictObject({
    ...post,
    state: z.enum(['QUEUE', 'ERROR']),
    detail: z.enum(['scheduled', 'missed']),
    policy: z.enum(['publish', 'ask', 'drop']),
  }),
  'post.unconfirmed': z.strictObject({
    ...post,
    state: z.enum(['QUEUE', 'ERROR']),
    detail: z.string().nullable(),
    error: z.string(),
  }),
  'post.paused': z.strictObject(paused),
  'post.resumed': z.strictObject(paused),
  'post.approval_requested': z.strictObject(decided),
  'post.approved': z.strictObject(decided),
  'post.rejected': z.strictObject(decided),
  'post.deleted': z.strictObject({
    ...post,
    state: z.enum(['QUEUE', 'ERROR', 'DRAFT']),
    detail: z.string().nullable(),
  }),
  'first_comment.posted': z.strictObject(firstComment),
  'first_comment.failed': z.strictObject(firstComment),
  /** A plug was given up. `plug`: its title; `actingName`: of the channel that was to act. */
  'plug.failed': z.strictObject({ ...post, plug: z.string(), actingName: z.string(), error: z.string() }),
  /** A comment that was not known. The fact's entity is the comment. */
  'comment.new': z.strictObject(comment),
  /** What one sweep found new below the posts of a channel, once for each sweep. The fact's entity is the channel. */
  'comment.synced': z.strictObject({
    ...channel,
    count: z.int(),
    /** Too many to be told one by one: there is no `comment.new` of them. */
    isBatch: z.boolean(),
    /** Between two sweeps. */
    minutes: z.int(),
    /** Who made the posts. */
    makers: z.array(id),
    /** Of the newest one. */
    content: z.string(),
    authorName: z.string(),
  }),
  /** A reply of a channel to a comment is out. The fact's entity is the reply. */
  'comment.reply': z.strictObject(comment),
  /** A media job is done or has failed, or nobody knows. The fact's entity is the job; `userId`: who asked for it. */
  'media.job_ended': z.strictObject({
    userId: id.nullable(),
    operation: z.string(),
    providerId: z.string(),
    state: z.enum(['done', 'failed', 'unknown']),
    fileIds: z.array(id),
    /** Address of the first file; null where the job did not end with one. */
    path: z.string().nullable().default(null),
    error: z.string().nullable(),
  }),
  /** Somebody proposes posts, and a person decides. The fact's entity is the proposal. */
  'proposal.created': z.strictObject({
    /** Whose key or token it was; null: somebody who is gone. */
    proposedBy: id.nullable(),
    /** The name of the key or app. */
    program: z.string().nullable(),
    /** The first words of the posts. */
    excerpt: z.string(),
  }),
  /**
   * What agents and models did in a week, for one person, who chose to hear it. The fact's entity is the organization;
   * days are theirs.
   */
  'agents.week_summed': z.strictObject({
    userId: id,
    from: z.iso.date(),
    to: z.iso.date(),
    acts: z.int(),
    programs: z.array(z.string()),
    proposals: z.int(),
    waiting: z.int(),
    runs: z.int(),
    spentMicros: z.number(),
    drafts: z.int(),
    /** Of a language model; null where none was asked or none answered. */
    summary: z.string().nullable().default(null),
  }),
  'channel.connected': z.strictObject(channel),
  'channel.refresh_needed': z.strictObject({ ...channel, reason: z.string() }),
  /** The login ends then, and a person has to renew it. */
  'channel.token_expiring': z.strictObject({ ...channel, reason: z.enum(['7_days', '1_day']), expiresAt: instant }),
  'channel.disabled': z.strictObject({ ...channel, reason: z.enum(['person', 'plan']) }),
  'channel.deleted': z.strictObject({ ...channel, reason: z.enum(['person']) }),
  /** An egress route that the organization uses does not work any more. The fact's entity is the setting of the route. */
  'route.down': z.strictObject({ name: z.string(), reason: z.string() }),
  /** Its deliveries have failed so many times in a row; once. The fact's entity is the webhook. */
  'webhook.failing': z.strictObject({
    name: z.string(),
    failures: z.int(),
    /** 0: there was no answer. */
    lastStatus: z.int(),
    lastError: z.string().nullable(),
  }),
  /** The local storage of an organization holds more than its soft quota, once a day. The fact's entity is the organization. */
  'storage.over_quota': z.strictObject({ bytes: z.number(), quotaBytes: z.number() }),
  /** The numbers of a day of every channel were read, or given up. The fact's entity is the organization. */
  'analytics.snapshot_complete': z.strictObject({ day: z.iso.date() }),
  /** Of one such day, all together. The fact's entity is the organization. */
  'analytics.anomaly_detected': z.strictObject({ anomalies: z.array(anomaly).readonly() }),
  /** The sums of a week over all channels, beside those of the same days a week before. The entity is the organization. */
  'analytics.week_summed': z.strictObject({
    from: z.iso.date(),
    to: z.iso.date(),
    channels: z.int(),
    metrics: z.array(
      z.strictObject({
        metric: z.string(),
        value: z.number(),
        /** The part that `previous` is held against, of days that both weeks know; absent: all of `value`. */
        compared: z.number().optional(),
        previous: z.number(),
      }),
    ),
  }),
  /**
   * The organization has published on so many days in a row, and not yet today; once a day. The fact's entity is the
   * organization.
   */
  'streak.at_risk': z.strictObject({ days: z.int(), day: z.iso.date() }),
  /** What was spent reached a part of a cap, once for each window. The fact's entity is the organization. */
  'ai.budget_alert': z.strictObject({
    /** Null: the cap over all providers. */
    domain: z.enum(['ai', 'media']).nullable(),
    providerId: z.string().nullable(),
    period: z.enum(['day', 'month']),
    /** First day of the window, UTC. */
    starts: z.iso.date(),
    percent: z.int(),
    capCents: z.int(),
    spentMicros: z.int(),
  }),
} as const satisfies Record<string, z.ZodObject>;

export type Topic = keyof typeof facts;
/** What a fact of a topic says, beside its organization and its entity. */
export type Payload<T extends Topic> = z.output<(typeof facts)[T]>;
