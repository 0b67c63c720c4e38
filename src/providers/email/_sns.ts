import { z } from 'zod';
import { openCertificates } from '../kit/protocols/certificates.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Fetch } from '../kit/wire/fetch.ts';
import type { Clock } from '../kit/declare/adapter.ts';
import { equalSecrets, isFresh, isRsa } from '../kit/protocols/signatures.ts';
import { jsonOf } from './_mail-api.ts';

/**
 * SNS repeats a failed delivery for up to an hour, with the time of the first; a repeated or late event has no second
 * effect.
 */
const LATE_MS = 65 * 60_000;
const text = z.string();
const Envelope = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: text,
  TopicArn: text,
  Subject: text.optional(),
  Message: text,
  Timestamp: text,
  SignatureVersion: z.literal('2'), // version 1 is SHA-1
  Signature: text,
  SigningCertURL: text,
  SubscribeURL: text.optional(),
  Token: text.optional(),
});
type Envelope = z.output<typeof Envelope>;

/** The signed fields in order: each present one is two lines, its name and its value. */
const SIGNED = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const;
const signedText = (envelope: Envelope): string =>
  SIGNED[envelope.Type].map((name) => (envelope[name] === undefined ? '' : `${name}\n${envelope[name]}\n`)).join('');

/** Answers the origin of certificates and confirmations of a topic; undefined for an invalid topic. */
function originOf(topic: string): string | undefined {
  const [, partition, region] =
    /^arn:(aws(?:-cn|-us-gov)?):sns:([a-z0-9-]{3,40}):\d{12}:[\w-]{1,256}$/.exec(topic) ?? [];
  return region && `https://sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`;
}

/** Answers the address if it is at that origin; undefined for any other. */
function urlAt(origin: string, given: string): URL | undefined {
  const url = URL.parse(given);
  return url?.origin === origin && url.username === '' && url.password === '' ? url : undefined;
}

/**
 * Reads deliveries of Amazon SNS for one topic (https://docs.aws.amazon.com/sns, "Verifying the signatures"): answers
 * the message, or null where there is none, and confirms a subscription. Undefined for a request that is not genuine,
 * not of this topic or not recent. Nothing is fetched before topic, time and host are checked.
 */
export function openSns({
  topic,
  fetch,
  clock,
}: {
  topic: string;
  fetch: Fetch;
  clock: Clock;
}): (body: Uint8Array) => Promise<string | null | undefined> {
  const origin = originOf(topic);
  const keyAt = openCertificates(fetch, clock);

  async function isGenuine(envelope: Envelope): Promise<boolean> {
    const certificate = origin === undefined ? undefined : urlAt(origin, envelope.SigningCertURL);
    if (!certificate?.pathname.endsWith('.pem') || certificate.search !== '') return false;
    if (!equalSecrets(envelope.TopicArn, topic) || !isFresh(envelope.Timestamp, clock.now(), LATE_MS)) return false;
    const key = await keyAt(certificate.href);
    return key !== undefined && isRsa(key, signedText(envelope), envelope.Signature);
  }

  async function confirm({ SubscribeURL = '' }: Envelope): Promise<boolean> {
    const url = urlAt(origin!, SubscribeURL);
    if (url?.searchParams.get('Action') !== 'ConfirmSubscription' || url.searchParams.get('TopicArn') !== topic)
      return false;
    const answer = await fetch(url.href, { method: 'GET', headers: { accept: '*/*' } }).catch(() => undefined);
    if (answer?.status !== 200)
      throw refused('unavailable', 'The subscription to the topic could not be confirmed now');
    return true;
  }

  return async (body) => {
    const envelope = Envelope.safeParse(jsonOf(body)).data;
    if (!envelope || !(await isGenuine(envelope))) return undefined;
    if (envelope.Type === 'Notification') return envelope.Message;
    return envelope.Type === 'UnsubscribeConfirmation' || (await confirm(envelope)) ? null : undefined;
  };
}
