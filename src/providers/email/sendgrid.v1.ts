import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { oneLine } from '../kit/protocols/mailbox.ts';
import { isEcdsa, isFresh } from '../kit/protocols/signatures.ts';
import { deliveries, headersOf, jsonOf, mailApi, OWN_ID } from './_mail-api.ts';

const STATUS = {
  processed: 'sent',
  delivered: 'delivered',
  open: 'opened',
  click: 'clicked',
  bounce: 'bounced',
  dropped: 'bounced', // not sent
  spamreport: 'complained',
} as const;
/** Reasons of a mail that was not sent which lie in its address; others are limits and faults of the sender. */
const BAD_ADDRESS: readonly (string | undefined)[] = ['Bounced Address', 'Invalid', 'Spam Reporting Address'];
/** `<X-Message-Id>.<route>`: the first part is the id that `send` got. */
const idOf = (messageId: string) => messageId.split('.', 1)[0]!;
const Event = z
  .object({
    event: z.enum(Object.keys(STATUS) as (keyof typeof STATUS)[]),
    sg_message_id: z.string(),
    [OWN_ID]: z.string().optional().catch(undefined),
    type: z.string().optional().catch(undefined),
    reason: z.string().optional().catch(undefined),
  })
  .transform(({ event, sg_message_id, [OWN_ID]: id, type, reason }) => ({
    messageId: idOf(sg_message_id),
    id,
    status: STATUS[event],
    reason,
    isAddressBad: event === 'bounce' ? type !== 'blocked' : event === 'dropped' && BAD_ADDRESS.includes(reason),
  }));

/** https://www.twilio.com/docs/sendgrid/api-reference */
export default mailApi({
  id: 'sendgrid',
  version: 'v1',
  status: 'active',
  title: 'Twilio SendGrid',
  description: 'High-volume email API, with signed batches of delivery events.',
  website: 'https://sendgrid.com',
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key', { help: 'Starts with SG.; needs the scope mail.send' }),
    region: text('Region', {
      default: 'global',
      options: [
        { value: 'global', label: 'Global' },
        { value: 'eu', label: 'European Union' },
      ],
    }),
    webhookPublicKey: text('Event webhook verification key', {
      required: false,
      help: 'Base64 that begins with MFkw; shown where the signed event webhook is switched on',
    }),
  },
  api: 'https://api.sendgrid.com',
  regions: { eu: 'https://api.eu.sendgrid.com' },
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  // the key or the sender, which an operator can correct
  errors: { 403: 'reauthorize', 404: 'reauthorize', 405: 'reauthorize' },

  send: ({ id, to, subject, text: plain, html, unsubscribe }, { values: { fromName, fromAddress } }) => ({
    path: '/v3/mail/send',
    replyHeaders: ['x-message-id'],
    json: {
      personalizations: [{ to: [{ email: to }], custom_args: { [OWN_ID]: id } }],
      from: { email: fromAddress, ...(fromName !== '' && { name: oneLine(fromName) }) },
      subject,
      content: [
        { type: 'text/plain', value: plain }, // must come first
        { type: 'text/html', value: html },
      ],
      headers: headersOf({ unsubscribe }),
    },
  }),
  sent: z
    .object({ headers: z.object({ 'x-message-id': z.string().min(1).transform(idOf) }) })
    .transform(({ headers }) => headers['x-message-id']),

  async check({ http }) {
    const { scopes } = await http.get('/v3/scopes', z.object({ scopes: z.array(z.string()) }));
    if (!scopes.includes('mail.send'))
      throw refused('reauthorize', 'Twilio SendGrid takes the key, but it may not send: give it the scope mail.send');
    return 'Twilio SendGrid takes the key, and it may send';
  },

  events: {
    key: 'webhookPublicKey',
    open:
      ({ values, clock }) =>
      async ({ headers, body }) => {
        const {
          'x-twilio-email-event-webhook-signature': given = '',
          'x-twilio-email-event-webhook-timestamp': time = '',
        } = headers;
        if (!isFresh(time, clock.now()) || !isEcdsa(values.webhookPublicKey, [time, body], given)) return undefined;
        const events = jsonOf(body);
        return { deliveries: deliveries(Array.isArray(events) ? events : [], Event) };
      },
  },
});
