import type { Log } from './logger.ts';
import type { Metrics } from './metrics.ts';

interface OfOrg {
  orgId: string;
}
interface OfChannel extends OfOrg {
  channelId: string;
}
interface OfPost extends OfChannel {
  postId: string;
  attempt: number;
  provider: string;
}

/** Business events, one function each: a counter with few labels and a log line with the detail. */
export interface Events {
  userRegistered(of: { userId: string }): void;
  loginRefused(of: { ip: string; code: string }): void;
  /** `key`: what may be shown of it. */
  apiKeyCreated(of: OfOrg & { userId: string; key: string }): void;
  apiKeyRevoked(of: OfOrg & { userId: string; keyId: string }): void;
  channelConnected(of: OfChannel & { provider: string; again: boolean }): void;
  channelNeedsLogin(of: OfChannel & { reason: string }): void;
  /** A route that channels use does not work any more, or works again. */
  routeDown(of: OfOrg & { settingId: string; reason: string }): void;
  routeUp(of: OfOrg & { settingId: string }): void;
  postsCreated(of: OfOrg & { posts: number }): void;
  /** A provider was called to publish, this long after the attempt was due. */
  publishCalled(of: { provider: string; latenessMs: number; durationMs: number }): void;
  /** The outcome of an attempt was written. `asked`: it comes from asking the network, not from sending. */
  attemptSettled(
    of: OfPost & { outcome: string; asked: boolean; state: string; detail: string | null; reason: string | null },
  ): void;
  webhookAttempted(
    of: OfOrg & {
      webhookId: string;
      event: string;
      attempt: number;
      status: number;
      durationMs: number;
      error: string | null;
    },
  ): void;
  mailAttempted(of: {
    emailId: string;
    template: string;
    attempt: number;
    outcome: 'sent' | 'retried' | 'bounced';
    reason: string | null;
  }): void;
  /** The payment processor told of something; `outcome` as in the history of payment events. */
  paymentHeard(of: { id: string; type: string; orgId: string | null; outcome: string }): void;
  /** `dropped`: given up after its tries; `unknown`: the service does not know the device any more. */
  pushAttempted(of: {
    pushId: string;
    outcome: 'sent' | 'retried' | 'dropped' | 'unknown';
    reason: string | null;
  }): void;
  mailTold(of: { emailId: string; status: string }): void;
  cacheAway(of: { reason: string | undefined }): void;
  cacheBack(): void;
}

/** The class of a status: few values, whatever receivers think of. */
const classOf = (status: number): string =>
  status >= 200 && status < 300 ? 'delivered' : status > 0 ? `${Math.floor(status / 100)}xx` : 'no answer';
const levelOf = ({ state, detail }: { state: string; detail: string | null }) =>
  state === 'ERROR' || detail === 'unconfirmed' ? 'warn' : state === 'PUBLISHED' ? 'debug' : 'info';

export function openEvents(log: Log, metrics: Metrics): Events {
  const say = (event: string, level: 'debug' | 'info' | 'warn', detail: object, sentence: string) => {
    metrics.events.inc({ event });
    log[level]({ event, ...detail }, sentence);
  };
  return {
    userRegistered: (of) => say('user.registered', 'info', of, 'a user registered'),
    loginRefused: (of) => say('login.refused', 'info', of, 'a login was refused'),
    apiKeyCreated: ({ key, ...of }) => say('api-key.created', 'info', { ...of, prefix: key }, 'an API key was made'),
    apiKeyRevoked: (of) => say('api-key.revoked', 'info', of, 'an API key was revoked'),
    channelConnected: (of) => say('channel.connected', 'info', of, 'a channel was connected'),
    channelNeedsLogin: (of) => say('channel.needs-login', 'warn', of, 'a channel needs a new login'),
    routeDown: (of) => say('route.down', 'warn', of, 'a route does not work: what goes over it waits'),
    routeUp: (of) => say('route.up', 'info', of, 'a route works again'),
    postsCreated(of) {
      metrics.events.inc({ event: 'post.created' }, of.posts);
      log.debug({ event: 'post.created', ...of }, 'posts were created');
    },
    publishCalled({ provider, latenessMs, durationMs }) {
      metrics.latenessSeconds.observe(Math.max(latenessMs, 0) / 1_000);
      metrics.publishSeconds.observe({ provider }, durationMs / 1_000);
    },
    attemptSettled(of) {
      const { provider, outcome, asked } = of;
      (asked ? metrics.lookUps : metrics.publishes).inc({ provider, outcome });
      log[levelOf(of)]({ event: asked ? 'post.looked-up' : 'post.attempted', ...of }, 'an attempt at a post has ended');
    },
    webhookAttempted(of) {
      const { event, ...detail } = of;
      metrics.webhookAttempts.inc({ event, outcome: classOf(of.status) });
      log.debug({ event: 'webhook.attempted', topic: event, ...detail }, 'a delivery was attempted');
    },
    mailAttempted: (of) =>
      say(
        `mail.${of.outcome}`,
        of.outcome === 'sent' ? 'debug' : 'warn',
        of,
        of.outcome === 'sent' ? 'a mail was sent' : 'a mail could not be sent',
      ),
    paymentHeard: (of) => say('payment.heard', 'info', of, 'the payment processor told of something'),
    pushAttempted: (of) =>
      say(
        `push.${of.outcome}`,
        of.outcome === 'dropped' ? 'warn' : 'debug',
        of,
        of.outcome === 'dropped' ? 'a push was given up' : 'a push was attempted',
      ),
    mailTold: (of) => {
      const back = of.status === 'bounced' || of.status === 'complained';
      say(`mail.${of.status}`, back ? 'warn' : 'debug', of, back ? 'a mail came back' : 'a mail went on');
    },
    cacheAway: (of) => say('cache.away', 'warn', of, 'the cache cannot be reached: rate limits count per process'),
    cacheBack: () => say('cache.back', 'info', {}, 'the cache is back'),
  };
}
