import type { Fact } from '../../platform/outbox/index.ts';
import { eventOf, type WebhookTopic } from './events.ts';
import { type FlatFact, flatBodyOf, isFlat } from './flat-body.ts';

type WebhookFact = Fact<WebhookTopic>;

/**
 * The body of a delivery, with its keys in the order of the specification; serialized once and sent as the same bytes
 * each time (W1).
 */
export function bodyOfFact(fact: WebhookFact): string {
  const event = eventOf(fact.topic);
  return JSON.stringify(
    isFlat(fact) ? { event, ...flatBodyOf(fact) } : { event, timestamp: fact.at.toISOString(), data: dataOf(fact) },
  );
}

/** The channel that a fact is about, by which webhooks are chosen; null: those that chose channels are not told (W7). */
export function channelOfFact(fact: WebhookFact): string | null {
  if (isFlat(fact)) return null;
  if ('channelId' in fact.payload) return fact.payload.channelId;
  return isOfNoChannel(fact) ? null : fact.entityId;
}

/** The post that a fact is about; null where it is about something else. */
export const postOfFact = ({ topic, entityId }: WebhookFact): string | null =>
  /^(post|first_comment)\./.test(topic) ? entityId : null;

/** Told whatever channels a webhook has chosen: a media job belongs to none, and W7 keeps it from nobody who asks. */
export const isOfNoChannel = ({ topic }: WebhookFact): boolean => topic === 'media.job_ended';

/** What an item of a thread tells of itself: nothing of its first one says that it was given up. */
const TOLD_OF_ITEMS: ReadonlySet<WebhookTopic> = new Set(['post.failed', 'post.unconfirmed']);
/**
 * For the rest the first item stands for its thread. A sweep whose comments are told one by one sends nothing either.
 */
export const isHeard = ({ topic, payload }: WebhookFact): boolean =>
  ('isBatch' in payload ? payload.isBatch : true) &&
  (!('rootPostId' in payload) || payload.rootPostId === null || TOLD_OF_ITEMS.has(topic));

function dataOf(fact: Exclude<WebhookFact, FlatFact>): object {
  switch (fact.topic) {
    case 'post.published':
      return {
        ...headOf(fact),
        url: fact.payload.url,
        state: 'PUBLISHED',
        publishDate: instant(fact.payload.publishDate),
      };
    case 'post.scheduled':
      return postOf(fact, 'QUEUE', fact.payload.detail);
    case 'post.failed': {
      const { detail, errorKind, error, attempts, retryable } = fact.payload;
      return { ...postOf(fact, 'ERROR', detail), errorKind, error, attempts, retryable };
    }
    case 'post.retrying': {
      const { detail, errorKind, error, attempt, nextAttemptAt } = fact.payload;
      return { ...postOf(fact, 'QUEUE', detail), errorKind, error, attempt, nextAttemptAt: instant(nextAttemptAt) };
    }
    case 'post.late':
      return { ...postOf(fact, 'PUBLISHED', null), url: fact.payload.url, latenessMs: fact.payload.latenessMs };
    case 'post.missed':
      return { ...postOf(fact, fact.payload.state, fact.payload.detail), policy: fact.payload.policy };
    case 'post.unconfirmed':
      return { ...postOf(fact, fact.payload.state, fact.payload.detail), error: fact.payload.error };
    case 'post.paused':
    case 'post.resumed': {
      const { state, detail, reason } = fact.payload;
      return { ...postOf(fact, state, detail), reason: reason === 'instance' ? 'channel' : reason };
    }
    case 'post.approval_requested':
    case 'post.approved':
    case 'post.rejected': {
      const { state, detail, by, reason } = fact.payload;
      return { ...postOf(fact, state, detail), by, reason };
    }
    case 'post.deleted':
      return postOf(fact, fact.payload.state, fact.payload.detail);
    case 'first_comment.posted':
    case 'first_comment.failed':
      return { ...postOf(fact, 'PUBLISHED', null), error: fact.payload.error };
    case 'channel.connected':
      return { ...channelHeadOf(fact), reason: null };
    case 'channel.token_expiring':
      return {
        ...channelHeadOf(fact),
        reason: fact.payload.reason,
        expiresAt: instant(fact.payload.expiresAt),
      };
    case 'media.job_ended': {
      const { state, fileIds, path, error } = fact.payload;
      return { jobId: fact.entityId, state, fileId: path === null ? null : (fileIds[0] ?? null), path, error };
    }
    case 'channel.refresh_needed':
    case 'channel.disabled':
    case 'channel.deleted':
      return { ...channelHeadOf(fact), reason: fact.payload.reason };
  }
}

type PostFact = Extract<WebhookFact, { topic: `post.${string}` | `first_comment.${string}` }>;
type ChannelFact = Extract<WebhookFact, { topic: `channel.${string}` }>;

const headOf = ({ entityId, payload: { channelId, providerId, channelName, content } }: PostFact) => ({
  postId: entityId,
  integrationId: channelId,
  providerIdentifier: providerId,
  integrationName: channelName,
  content,
});
const postOf = (fact: PostFact, state: string, detail: string | null) => ({
  ...headOf(fact),
  state,
  detail,
  publishDate: instant(fact.payload.publishDate),
  group: fact.payload.groupId,
});
const channelHeadOf = ({ entityId, payload: { providerId, name } }: ChannelFact) => ({
  integrationId: entityId,
  providerIdentifier: providerId,
  integrationName: name,
});
const instant = (written: string): string => new Date(written).toISOString();
