import type { Log } from './logger.ts';
import type { Metrics } from './metrics.ts';

interface OfOrg { orgId: string }
interface OfChannel extends OfOrg { channelId: string; provider: string }
interface OfPost extends OfChannel { postId: string; attempt: number }

/** What happens in the business, one function each: a counter with few labels and a log line with the detail. */
export interface Events {
  userRegistered(of: OfOrg & { userId: string; superAdmin: boolean }): void;
  loginRefused(of: { ip: string }): void;
  apiKeyCreated(of: OfOrg & { userId: string; keyId: string }): void;
  apiKeyRevoked(of: OfOrg & { userId: string; keyId: string }): void;
  channelConnected(of: OfChannel): void;
  channelNeedsLogin(of: OfChannel & { reason: string }): void;
  postsCreated(of: OfOrg & { posts: number }): void;
  postPublished(of: OfPost & { latenessMs: number; durationMs?: number }): void;
  /** Not published and tried again; `outcome` is the kind of failure. */
  postRetried(of: OfPost & { outcome: string; delayMs: number }): void;
  postFailed(of: OfPost & { outcome: string; reason: string }): void;
  /** The answer of the provider was lost. */
  postUnconfirmed(of: OfPost): void;
  webhookAttempted(of: OfOrg & { webhookId: string; event: string; attempt: number; status: number; durationMs: number; error?: string }): void;
  cacheAway(of: { reason: string | undefined }): void;
  cacheBack(): void;
}

export function openEvents(log: Log, metrics: Metrics): Events {
  const say = (event: string, level: 'debug' | 'info' | 'warn', detail: object, sentence: string) => {
    metrics.events.inc({ event });
    log[level]({ event, ...detail }, sentence);
  };
  return {
    userRegistered: (of) => say('user.registered', 'info', of, 'a user registered'),
    loginRefused: (of) => say('login.refused', 'info', of, 'a login was refused'),
    apiKeyCreated: (of) => say('api-key.created', 'info', of, 'an API key was made'),
    apiKeyRevoked: (of) => say('api-key.revoked', 'info', of, 'an API key was revoked'),
    channelConnected: (of) => say('channel.connected', 'info', of, 'a channel was connected'),
    channelNeedsLogin: (of) => say('channel.needs-login', 'warn', of, 'a channel needs a new login'),
    postsCreated: (of) => say('posts.created', 'debug', of, 'posts were created'),
    postPublished(of) {
      metrics.publishes.inc({ provider: of.provider, outcome: 'published' });
      metrics.latenessSeconds.observe(Math.max(of.latenessMs, 0) / 1_000);
      if (of.durationMs !== undefined) metrics.publishSeconds.observe({ provider: of.provider }, of.durationMs / 1_000);
      say('post.published', 'info', of, 'a post was published');
    },
    postRetried(of) {
      metrics.publishes.inc({ provider: of.provider, outcome: of.outcome });
      say('post.retried', 'info', of, 'a post will be tried again');
    },
    postFailed(of) {
      metrics.publishes.inc({ provider: of.provider, outcome: of.outcome });
      say('post.failed', 'warn', of, 'a post could not be published');
    },
    postUnconfirmed(of) {
      metrics.publishes.inc({ provider: of.provider, outcome: 'lost' });
      say('post.unconfirmed', 'warn', of, 'the answer to a post was lost; the network will be asked');
    },
    webhookAttempted(of) {
      metrics.webhookAttempts.inc({ event: of.event, outcome: of.status >= 200 && of.status < 300 ? 'delivered' : of.status > 0 ? `${Math.floor(of.status / 100)}xx` : 'no answer' });
      const { event, ...detail } = of;
      log.debug({ event: 'webhook.attempted', topic: event, ...detail }, 'a delivery was attempted');
    },
    cacheAway: (of) => say('cache.away', 'warn', of, 'the cache cannot be reached: rate limits count per process'),
    cacheBack: () => say('cache.back', 'info', {}, 'the cache is back'),
  };
}
