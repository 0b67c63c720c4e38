import { ECDH } from 'node:crypto';
import { encryptNotification, vapidHeaders } from '@block65/webcrypto-web-push';
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
/** A signature is good for twelve hours, and to one push service. */
const SIGNED_FOR_MS = 6 * 3_600_000;
const MOST_SIGNATURES = 100;
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
  const authorizationOf = openSignatures(clock, vapid);
  return async (push) => {
    try {
      const { endpoint, keys } = JSON.parse(push.token) as PushSubscription; // as it was judged when it was registered
      const subscription = { endpoint, keys, expirationTime: null };
      const answer = await outbound.fetch(endpoint, {
        method: 'POST',
        headers: {
          authorization: await authorizationOf(subscription),
          ttl: String(TTL_SECONDS),
          topic: push.category,
          urgency: 'normal',
          'content-encoding': 'aes128gcm',
          'content-type': 'application/octet-stream',
        },
        body: await encryptNotification(subscription, Buffer.from(JSON.stringify(messageOf(push)))),
        redirects: 'none',
      });
      if (answer.status >= 200 && answer.status < 300) return { outcome: 'sent' };
      return outcomeOfRefusal(answer.status, answer.text(), answer.headers.get('retry-after'), clock.now());
    } catch (error) {
      return outcomeOfFailure(error);
    }
  };
}

/** Signs once for each push service while the signature is good, not for each push. */
function openSignatures(clock: Clock, vapid: Vapid) {
  const signed = new Map<string, { at: number; authorization: Promise<string> }>(); // the oldest first
  return ({ endpoint, keys }: PushSubscription): Promise<string> => {
    const { origin } = new URL(endpoint);
    const now = clock.now().getTime();
    const known = signed.get(origin);
    if (known && Math.abs(now - known.at) < SIGNED_FOR_MS) return known.authorization;
    const headers = vapidHeaders({ endpoint, keys, expirationTime: null }, vapid);
    const authorization = headers.then(({ headers: { authorization: text } }) => text);
    signed.delete(origin);
    signed.set(origin, { at: now, authorization });
    if (signed.size > MOST_SIGNATURES) signed.delete(signed.keys().next().value!);
    authorization.catch(() => signed.delete(origin));
    return authorization;
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
