import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { mailbox } from '../kit/protocols/mailbox.ts';
import { equalSecrets } from '../kit/protocols/signatures.ts';
import { deliveries, headersOf, jsonOf, mailApi, OWN_ID } from './_mail-api.ts';

const STATUS = {
  Delivery: 'delivered',
  Open: 'opened',
  Click: 'clicked',
  Bounce: 'bounced',
  SpamComplaint: 'complained',
} as const;
/** Bounces after which the mail may still arrive, or has arrived. */
const PASSING = new Set([
  'Transient',
  'SoftBounce',
  'AutoResponder',
  'AddressChange',
  'DnsError',
  'Subscribe',
  'Unsubscribe',
  'OpenRelayTest',
  'ChallengeVerification',
]);
/** Bounces whose reason lies in the address, as in all that make Postmark send nothing more to it (`Inactive`). */
const BAD_ADDRESS = new Set(['HardBounce', 'BadEmailAddress', 'ManuallyDeactivated']);
const Words = z.string().nullish().catch(undefined);
const Event = z
  .object({
    RecordType: z.enum(Object.keys(STATUS) as (keyof typeof STATUS)[]),
    MessageID: z.string(),
    Metadata: z.unknown().optional(),
    Type: Words,
    Inactive: z.boolean().nullish().catch(undefined),
    Description: Words,
    Details: Words,
  })
  .transform(({ RecordType, MessageID, Metadata, Type, Inactive, Description, Details }) =>
    RecordType === 'Bounce' && PASSING.has(Type ?? '') && Inactive !== true
      ? undefined
      : {
          messageId: MessageID,
          id: z.object({ [OWN_ID]: z.string() }).safeParse(Metadata).data?.[OWN_ID],
          status: STATUS[RecordType],
          isAddressBad: RecordType === 'Bounce' && (Inactive === true || BAD_ADDRESS.has(Type ?? '')),
          reason: RecordType === 'Bounce' ? Details || Description || Type || undefined : undefined,
        },
  );
const password = (authorization: string): string => {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(authorization) ?? [];
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString();
  return pair.slice(pair.indexOf(':') + 1);
};

/**
 * https://postmarkapp.com/developer. Events are not signed: a credential that the operator chooses is their only proof.
 */
export default mailApi({
  id: 'postmark',
  version: 'v1',
  status: 'active',
  title: 'Postmark',
  description: 'Transactional email API with message streams and delivery events.',
  website: 'https://postmarkapp.com',
  authType: 'api_key',
  setupNotes:
    'Give the webhook at Postmark a long random password, as HTTP Basic password or as the header X-Webhook-Secret, and set the same here. Its events are not signed.',
  credentials: {
    serverToken: secret('Server API token'),
    messageStream: text('Message stream', { default: 'outbound', validation: '[A-Za-z0-9_-]{1,100}' }),
    webhookSecret: secret('Webhook shared secret', {
      required: false,
      help: 'Long and random: the password or header value that the webhook is set up with',
    }),
  },
  api: 'https://api.postmarkapp.com',
  auth: { in: 'header', name: 'x-postmark-server-token', prefix: '', field: 'serverToken' },
  errors: { 403: 'unavailable', 404: 'reauthorize' }, // 403 is a block of the network in front of the API
  errorOf: z
    .object({ ErrorCode: z.literal([10, 400, 401, 405, 412, 413]) })
    .transform(({ ErrorCode: code }) => (code === 405 ? ('exhausted' as const) : ('reauthorize' as const))),
  badAddressOf: z.object({ ErrorCode: z.literal(406) }), // it has bounced for good, or its owner complained

  send: (
    { id, to, subject, text: plain, html, unsubscribe },
    { values: { fromName, fromAddress, messageStream } },
  ) => ({
    path: '/email',
    json: {
      From: mailbox(fromName, fromAddress),
      To: to,
      Subject: subject,
      TextBody: plain,
      HtmlBody: html,
      Headers: Object.entries(headersOf({ unsubscribe })).map(([Name, Value]) => ({ Name, Value })),
      Metadata: { [OWN_ID]: id },
      MessageStream: messageStream,
    },
  }),
  sent: z.object({ MessageID: z.string().min(1), ErrorCode: z.literal(0) }).transform(({ MessageID }) => MessageID),

  async check({ http }) {
    const { Name, DeliveryType } = await http.get(
      '/server',
      z.object({ Name: z.string(), DeliveryType: z.string().nullish() }),
    );
    return `Postmark takes the token of the server ${Name}${DeliveryType === 'Sandbox' ? ', which delivers nothing: it is a sandbox' : ''}`;
  },

  events: {
    key: 'webhookSecret',
    open:
      ({ values: { webhookSecret } }) =>
      async ({ headers, body }) => {
        const given = [headers['x-webhook-secret'] ?? '', password(headers['authorization'] ?? '')];
        const genuine = given.map((one) => equalSecrets(one, webhookSecret)).includes(true);
        return genuine ? { deliveries: deliveries([jsonOf(body)], Event) } : undefined;
      },
  },
});
