import { ECDH } from 'node:crypto';
import { buildPushPayload } from '@block65/webcrypto-web-push';
import { z } from 'zod';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import { clip, outcomeOfFailure, type PushOutcome, type SendPush, delayOfHeader } from './answers.ts';
import type { ClaimedPush } from './store.ts';

/** The keys of this service, which the push services of browsers know it by (RFC 8292). */
export interface Vapid {
  publicKey: string;
  privateKey: string;
  subject: string;
}

/** Seconds for which a push service keeps what it cannot deliver: as long as we try. */
const TTL_SECONDS = 3_600;
const base64url = (bytes: number) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]+=*$/)
    .refine((text) => Buffer.from(text, 'base64url').length === bytes);
const isPoint = (key: string): boolean => {
  try {
    return Buffer.from(key, 'base64url')[0] === 4 && ECDH.convertKey(key, 'prime256v1', 'base64url').length > 0;
  } catch {
    return false;
  }
};

/** What `JSON.stringify` makes of a `PushSubscription` (Push API 8.1); browsers may add to it. */
export const PushSubscription = z.object({
  endpoint: z.url({ protocol: /^https$/ }).max(2_048),
  keys: z.object({ p256dh: base64url(65).refine(isPoint), auth: base64url(16) }),
});
export type PushSubscription = z.output<typeof PushSubscription>;

/** Opens the sender to the push services of browsers (RFC 8030, 8291), through the outbound guard. */
export function openWebPush({ outbound, clock }: { outbound: Outbound; clock: Clock }, vapid: Vapid): SendPush {
  return async (push) => {
    try {
      const subscription = { expirationTime: null, ...PushSubscription.parse(JSON.parse(push.token)) };
      const options = { ttl: TTL_SECONDS, topic: push.category, urgency: 'normal' as const };
      const { headers, body } = await buildPushPayload({ data: messageOf(push), options }, subscription, vapid);
      const { 'content-length': _, ...sent } = headers; // the way out counts itself
      const answer = await outbound.fetch(subscription.endpoint, {
        method: 'POST',
        headers: sent,
        body,
        redirects: 'none',
      });
      if (answer.status >= 200 && answer.status < 300) return { outcome: 'sent' };
      return outcomeOfRefusal(answer.status, answer.text(), answer.headers.get('retry-after'), clock.now());
    } catch (error) {
      return outcomeOfFailure(error);
    }
  };
}

/** What the service worker of the application gets. Of one category a browser shows the latest (`tag`). */
const messageOf = ({ category, title, content, link }: ClaimedPush) => ({
  title: clip(title),
  body: clip(content),
  tag: category,
  data: { category, ...(link !== null && { link }) },
});

/** RFC 8030 5, 7.3 and 8.4: 404 and 410 say that the subscription has ended. */
function outcomeOfRefusal(status: number, body: string, retryAfter: string | null, now: Date): PushOutcome {
  const reason = `${status} ${body}`.trim().slice(0, 300);
  if (status === 404 || status === 410) return { outcome: 'unknown', reason };
  if (status === 429 || status >= 500) return { outcome: 'retry', reason, afterMs: delayOfHeader(retryAfter, now) };
  return { outcome: 'refused', reason };
}
