import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { mailbox } from '../kit/protocols/mailbox.ts';
import { isFresh, isHmac } from '../kit/protocols/signatures.ts';
import { deliveries, headersOf, jsonOf, mailApi, OWN_ID } from './_mail-api.ts';

const STATUS = {
  accepted: 'sent',
  delivered: 'delivered',
  opened: 'opened',
  clicked: 'clicked',
  complained: 'complained',
  rejected: 'bounced',
  failed: 'bounced',
} as const;
/** Reasons of a permanent failure that lie in the address. */
const BAD_ADDRESS = new Set(['bounce', 'suppress-bounce', 'suppress-complaint']);
/** Mailgun repeats an event for about 8 hours; a used token is remembered for longer. */
const LATE_MS = 12 * 3_600_000;
const bare = (messageId: string) => messageId.replace(/^<|>$/g, '');
const Words = z.string().nullish().catch(undefined);
const Event = z
  .object({
    event: z.enum(Object.keys(STATUS) as (keyof typeof STATUS)[]),
    severity: Words,
    reason: Words,
    'delivery-status': z.object({ message: Words, description: Words }).nullish().catch(undefined),
    message: z.object({ headers: z.object({ 'message-id': z.string() }) }),
    'user-variables': z.unknown().optional(),
  })
  .transform(({ event, severity, reason, 'delivery-status': said, message, 'user-variables': ours }) =>
    event === 'failed' && severity !== 'permanent'
      ? undefined // it is tried again
      : {
          messageId: bare(message.headers['message-id']),
          id: z.object({ [OWN_ID]: z.string() }).safeParse(ours).data?.[OWN_ID],
          status: STATUS[event],
          isAddressBad: event === 'failed' && BAD_ADDRESS.has(reason ?? ''),
          reason: STATUS[event] === 'bounced' ? said?.message || said?.description || reason || undefined : undefined,
        },
  );
const Signature = z.object({ timestamp: z.coerce.string(), token: z.string().min(1), signature: z.string() });
const Hook = z.object({ signature: Signature, 'event-data': z.unknown() });

/** https://documentation.mailgun.com/docs/mailgun/api-reference/ */
export default mailApi({
  id: 'mailgun',
  version: 'v1',
  status: 'active',
  title: 'Mailgun',
  description: 'Email API that sends from a domain of yours, with delivery events.',
  website: 'https://www.mailgun.com',
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key or domain sending key'),
    domain: text('Sending domain', { validation: '[A-Za-z0-9.-]{1,253}', help: 'Like mg.example.com' }),
    region: text('Region', {
      default: 'us',
      options: [
        { value: 'us', label: 'United States' },
        { value: 'eu', label: 'European Union' },
      ],
    }),
    webhookSigningKey: secret('HTTP webhook signing key', {
      required: false,
      help: 'Not the API key: it is shown under API security',
    }),
  },
  api: 'https://api.mailgun.net',
  regions: { eu: 'https://api.eu.mailgun.net' },
  auth: { in: 'basic', user: { text: 'api' }, password: { field: 'apiKey' } },
  // the key, the domain or its region, which an operator can correct
  errors: { 403: 'reauthorize', 404: 'reauthorize' },

  send: ({ id, to, subject, text: plain, html, unsubscribe }, { values }) => ({
    path: `/v3/${values.domain}/messages`,
    form: {
      from: mailbox(values.fromName, values.fromAddress),
      to,
      subject,
      text: plain,
      html,
      ...Object.fromEntries(Object.entries(headersOf({ unsubscribe })).map(([name, value]) => [`h:${name}`, value])),
      [`v:${OWN_ID}`]: id,
    },
  }),
  sent: z.object({ id: z.string().min(1).transform(bare) }).transform(({ id }) => id),

  async check({ http, values }) {
    const { domain, fromName, fromAddress } = values;
    const Domain = z.object({ domain: z.object({ state: z.string() }) });
    const known = await http.find(`/v4/domains/${domain}`, Domain, { absent: z.unknown() });
    if (known) return `Mailgun takes the key, and ${domain} is ${known.domain.state}`;
    // A sending key may not read domains: it is checked by a mail in test mode, which is accepted and not delivered.
    const mail = {
      from: mailbox(fromName, fromAddress),
      to: fromAddress,
      subject: 'Test',
      text: 'Test',
      'o:testmode': 'yes',
    };
    await http.post(`/v3/${domain}/messages`, z.object({ id: z.string() }), { form: mail });
    return `Mailgun takes the key, which may only send from ${domain}`;
  },

  events: {
    key: 'webhookSigningKey',
    open:
      ({ values, clock }) =>
      async ({ body }) => {
        const hook = Hook.safeParse(jsonOf(body)).data;
        if (!hook) return undefined;
        const { timestamp, token, signature } = hook.signature;
        if (
          !isFresh(timestamp, clock.now(), LATE_MS) ||
          !isHmac(values.webhookSigningKey, [timestamp, token], signature, 'hex')
        )
          return undefined;
        return { token, deliveries: deliveries([hook['event-data']], Event) };
      },
  },
});
