import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { mailbox } from '../kit/protocols/mailbox.ts';
import { fromBase64, isFresh, isHmac } from '../kit/protocols/signatures.ts';
import { deliveries, headersOf, jsonOf, mailApi, OWN_ID } from './_mail-api.ts';

const STATUS = {
  'email.sent': 'sent',
  'email.delivered': 'delivered',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
  'email.bounced': 'bounced',
  'email.failed': 'bounced', //     not sent
  'email.suppressed': 'bounced', // the address has bounced before
  'email.complained': 'complained',
} as const;
const Words = z.string().nullish().catch(undefined);
const Said = z.object({ type: Words, message: Words, reason: Words }).nullish().catch(undefined);
const Event = z
  .object({
    type: z.enum(Object.keys(STATUS) as (keyof typeof STATUS)[]),
    data: z.object({
      email_id: z.string(),
      tags: z.unknown().optional(),
      bounce: Said,
      failed: Said,
      suppressed: Said,
    }),
  })
  .transform(({ type, data: { email_id, tags, bounce, failed, suppressed } }) => ({
    messageId: email_id,
    id: z.object({ [OWN_ID]: z.string() }).safeParse(tags).data?.[OWN_ID],
    status: STATUS[type],
    reason: bounce?.message ?? suppressed?.message ?? failed?.reason ?? undefined,
    isAddressBad:
      type === 'email.suppressed' || (type === 'email.bounced' && (bounce?.type ?? 'Permanent') === 'Permanent'),
  }));

const Domains = z.object({
  data: z.array(z.object({ id: z.string().nullish(), name: z.string(), status: z.string() })),
});
/** Of a domain that may send and receive, one of which is not verified; those for sending are SPF and DKIM. */
const Records = z.object({ records: z.array(z.object({ record: z.string(), status: z.string() })) });

/** https://resend.com/docs/api-reference; its events are signed by Svix. */
export default mailApi({
  id: 'resend',
  version: 'v1',
  status: 'active',
  title: 'Resend',
  description: 'Transactional email API for developers, with signed delivery events.',
  website: 'https://resend.com',
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key', { help: 'Starts with re_; one that may only send is enough' }),
    webhookSecret: secret('Webhook signing secret', {
      required: false,
      help: 'Starts with whsec_; shown on the page of the webhook',
    }),
  },
  api: 'https://api.resend.com',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errors: { 403: 'reauthorize', 404: 'reauthorize' }, // the key or the sending domain, which an operator can correct
  errorOf: z
    .object({
      name: z.enum([
        'daily_quota_exceeded',
        'monthly_quota_exceeded',
        'invalid_from_address',
        'concurrent_idempotent_requests',
        'invalid_idempotent_request',
      ]),
    })
    .transform(
      ({ name }) =>
        name.endsWith('quota_exceeded')
          ? ('exhausted' as const)
          : name === 'invalid_from_address'
            ? ('reauthorize' as const)
            : name === 'concurrent_idempotent_requests'
              ? ('unavailable' as const)
              : ('lost' as const), // an earlier attempt with other content was accepted
    ),

  send: ({ id, to, subject, text, html, unsubscribe }, { values: { fromName, fromAddress } }) => ({
    path: '/emails',
    idempotencyKey: id,
    json: {
      from: mailbox(fromName, fromAddress),
      to: [to],
      subject,
      text,
      html,
      headers: headersOf({ unsubscribe }),
      tags: [{ name: OWN_ID, value: id }],
    },
  }),
  sent: z.object({ id: z.string().min(1) }).transform(({ id }) => id),

  async check({ http, values: { fromAddress } }) {
    const domains = await http.find('/domains', Domains, {
      absent: z.object({ name: z.literal('restricted_api_key') }),
    });
    if (!domains) return 'Resend takes the key, which may only send';
    const domain = fromAddress.slice(fromAddress.lastIndexOf('@') + 1);
    const found = domains.data.find(({ name }) => name === domain);
    const status = found?.status ?? 'not registered';
    if (status === 'verified') return `Resend takes the key, and ${domain} is verified`;
    if (found?.id && status.startsWith('partially_')) {
      const { records } = await http.get(`/domains/${encodeURIComponent(found.id)}`, Records);
      const sending = records.filter(({ record }) => record === 'SPF' || record === 'DKIM');
      if (sending.length > 0 && sending.every((one) => one.status === 'verified'))
        return `Resend takes the key, and ${domain} is verified for sending`;
    }
    return `Resend takes the key, but ${domain} is ${status} there`;
  },

  events: {
    key: 'webhookSecret',
    open: ({ values, clock }) => {
      const key = fromBase64(values.webhookSecret.replace(/^whsec_/, ''));
      return async ({ headers, body }) => {
        const { 'svix-id': id = '', 'svix-timestamp': time = '', 'svix-signature': given = '' } = headers;
        const signed = [`${id}.${time}.`, body];
        const genuine = given
          .split(' ')
          .some((one) => one.startsWith('v1,') && isHmac(key, signed, one.slice('v1,'.length), 'base64'));
        return genuine && isFresh(time, clock.now()) ? { deliveries: deliveries([jsonOf(body)], Event) } : undefined;
      };
    },
  },
});
