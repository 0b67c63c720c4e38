import { z } from 'zod';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import { serviceAccountToken } from '../../providers/registry/index.ts';
import { clip, outcomeOfFailure, type PushOutcome, type SendPush, delayOfHeader } from './answers.ts';
import type { ClaimedPush } from './store.ts';

const TOKENS = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const HOST = 'https://fcm.googleapis.com';
export interface FcmAccount {
  projectId: string;
  clientEmail: string;
  privateKey: string;
}
/** https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode, as it is in the answer. */
const Failure = z.object({
  error: z.object({
    status: z.string().catch(''),
    message: z.string().catch(''),
    details: z
      .array(
        z.looseObject({
          errorCode: z.string().optional().catch(undefined),
          fieldViolations: z
            .array(z.object({ field: z.string() }))
            .optional()
            .catch(undefined),
        }),
      )
      .catch([]),
  }),
});

/** Opens the sender of Firebase Cloud Messaging (HTTP v1), through the outbound guard. */
export function openFcm({ outbound, clock }: { outbound: Outbound; clock: Clock }, account: FcmAccount): SendPush {
  const file = { type: 'service_account', client_email: account.clientEmail, private_key: account.privateKey };
  const post = async (url: string, Answer: z.ZodType, { form }: { form: Record<string, string> }) => {
    const answer = await outbound.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      redirects: 'none',
    });
    if (answer.status !== 200) throw new Error(`The login of the service account was answered by ${answer.status}`);
    return Answer.parse(answer.json());
  };
  const accessToken = serviceAccountToken(
    { http: { post } as never, clock, hide: () => undefined }, // of all calls it makes this one
    { json: JSON.stringify(file), address: TOKENS, scope: SCOPE },
  );
  return async (push) => {
    try {
      const answer = await outbound.fetch(
        `${HOST}/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${await accessToken()}`, 'content-type': 'application/json' },
          body: JSON.stringify({ message: messageOf(push) }),
          redirects: 'none',
        },
      );
      if (answer.status === 200) return { outcome: 'sent' };
      return outcomeOfRefusal(answer.status, answer.text(), answer.headers.get('retry-after'), clock.now());
    } catch (error) {
      return outcomeOfFailure(error);
    }
  };
}

/** Of one category a device shows the latest (`collapse key`). */
const messageOf = ({ token, platform, category, title, content, link }: ClaimedPush) => ({
  token,
  notification: { title: clip(title), body: clip(content) },
  data: { category, ...(link !== null && { link }) },
  ...(platform === 'android' && { android: { collapse_key: category } }),
  ...(platform === 'ios' && { apns: { headers: { 'apns-collapse-id': category } } }),
  ...(platform === 'web' && { webpush: { headers: { Topic: category } } }),
});

function outcomeOfRefusal(status: number, body: string, retryAfter: string | null, now: Date): PushOutcome {
  const { error } = Failure.safeParse(jsonOf(body)).data ?? { error: undefined };
  const details = error?.details ?? [];
  const code = details.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? error?.status ?? '';
  const reason = `${status} ${code} ${error?.message ?? ''}`.trim().slice(0, 300);
  const isBadToken =
    code === 'INVALID_ARGUMENT' &&
    (details.some(({ fieldViolations }) => fieldViolations?.some(({ field }) => field === 'message.token')) ||
      /registration token/i.test(error?.message ?? ''));
  if (code === 'UNREGISTERED' || code === 'SENDER_ID_MISMATCH' || isBadToken) return { outcome: 'unknown', reason };
  if (status === 429 || status >= 500 || status === 401 || status === 403)
    return { outcome: 'retry', reason, afterMs: delayOfHeader(retryAfter, now) };
  return { outcome: 'refused', reason };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
