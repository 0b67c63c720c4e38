import { z } from 'zod';
import { signAws } from '../kit/protocols/aws.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { asciiMailbox } from '../kit/protocols/mailbox.ts';
import { deliveries, headersOf, jsonOf, mailApi, OWN_ID } from './_mail-api.ts';
import { openSns } from './_sns.ts';

const STATUS = {
  Send: 'sent',
  Delivery: 'delivered',
  Open: 'opened',
  Click: 'clicked',
  Bounce: 'bounced', // of any type: SES has stopped trying
  Reject: 'bounced',
  'Rendering Failure': 'bounced',
  Complaint: 'complained',
} as const;
const Kind = z.enum(Object.keys(STATUS) as (keyof typeof STATUS)[]);
const Words = z.string().nullish().catch(undefined);
const Event = z
  .object({
    eventType: Kind.optional(), //        sent by a configuration set
    notificationType: Kind.optional(), // sent by an identity
    mail: z.object({ messageId: z.string(), tags: z.unknown().optional() }),
    bounce: z
      .object({
        bounceType: Words,
        bounceSubType: Words,
        bouncedRecipients: z.array(z.object({ diagnosticCode: Words })).catch([]),
      })
      .nullish()
      .catch(undefined),
    reject: z.object({ reason: Words }).nullish().catch(undefined),
    failure: z.object({ errorMessage: Words }).nullish().catch(undefined),
  })
  .transform(({ eventType, notificationType, mail, bounce, reject, failure }) => {
    const kind = eventType ?? notificationType;
    const why =
      bounce &&
      (bounce.bouncedRecipients[0]?.diagnosticCode ??
        [bounce.bounceType, bounce.bounceSubType].filter(Boolean).join(', '));
    return (
      kind && {
        messageId: mail.messageId,
        id: z.object({ [OWN_ID]: z.tuple([z.string()], z.string()) }).safeParse(mail.tags).data?.[OWN_ID]?.[0],
        status: STATUS[kind],
        isAddressBad: kind === 'Bounce' && bounce?.bounceType === 'Permanent',
        reason: why || reject?.reason || failure?.errorMessage || undefined,
      }
    );
  });

/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/; events come through a topic of SNS. */
export default mailApi({
  id: 'ses',
  version: 'v1',
  status: 'active',
  title: 'Amazon SES',
  description: 'Email API of AWS (version 2); delivery events come through a topic of SNS.',
  website: 'https://aws.amazon.com/ses/',
  authType: 'aws_sigv4',
  setupNotes:
    'For delivery events: a configuration set that publishes to an SNS topic, and an HTTPS subscription of that topic to /webhooks/email, without raw message delivery; the topic has SignatureVersion 2 (SHA-256). The subscription is confirmed by itself.',
  credentials: {
    accessKeyId: text('Access key id', {
      validation: '[A-Za-z0-9]{4,128}',
      help: 'Of a user with ses:SendEmail, and ses:GetAccount for the test',
    }),
    secretAccessKey: secret('Secret access key'),
    region: text('Region', { validation: '[a-z0-9-]{3,40}', help: 'Like eu-west-1' }),
    sessionToken: secret('Session token', { required: false, default: '', help: 'Of temporary credentials only' }),
    configurationSet: text('Configuration set', { required: false, default: '', help: 'Needed for delivery events' }),
    snsTopicArn: text('Expected SNS topic ARN', {
      required: false,
      help: 'Delivery events of any other topic are refused',
    }),
  },
  api: 'https://email.{region}.amazonaws.com',
  // the keys, their rights or the configuration set, which an operator can correct
  errors: { 403: 'reauthorize', 404: 'reauthorize' },
  errorHeaders: ['x-amzn-errortype'],
  errorOf: z
    .object({ __type: Words, code: Words, headers: z.object({ 'x-amzn-errortype': Words }) })
    .transform(
      ({ __type, code, headers }) =>
        (headers['x-amzn-errortype'] ?? __type ?? code ?? '').replace(/^.*#/, '').split(':', 1)[0]!,
    )
    .pipe(
      z.enum([
        'LimitExceededException',
        'AccountSuspendedException',
        'SendingPausedException',
        'MailFromDomainNotVerifiedException',
        'NotFoundException',
      ]),
    )
    .transform((type) => (type === 'LimitExceededException' ? ('exhausted' as const) : ('reauthorize' as const))),

  async send({ id, to, subject, text: plain, html, unsubscribe }, line) {
    const { configurationSet, fromName, fromAddress } = line.values;
    const path = '/v2/email/outbound-emails';
    const mail = {
      FromEmailAddress: asciiMailbox(fromName, fromAddress),
      Destination: { ToAddresses: [to] },
      Content: {
        Simple: {
          Subject: { Data: subject, Charset: 'UTF-8' },
          Body: { Text: { Data: plain, Charset: 'UTF-8' }, Html: { Data: html, Charset: 'UTF-8' } },
          Headers: Object.entries(headersOf({ unsubscribe })).map(([Name, Value]) => ({ Name, Value })),
        },
      },
      EmailTags: [{ Name: OWN_ID, Value: id }],
      ...(configurationSet !== '' && { ConfigurationSetName: configurationSet }),
    };
    const headers = await signAws(line.values, {
      service: 'ses',
      method: 'POST',
      url: line.base + path,
      body: JSON.stringify(mail),
      now: line.clock.now(),
    });
    return { path, headers, json: mail };
  },
  sent: z.object({ MessageId: z.string().min(1) }).transform(({ MessageId }) => MessageId),

  async check({ http, base, values, clock }) {
    const path = '/v2/email/account';
    const Account = z.object({ SendingEnabled: z.boolean(), ProductionAccessEnabled: z.boolean() });
    const account = await http.get(path, Account, {
      headers: await signAws(values, { service: 'ses', method: 'GET', url: base + path, now: clock.now() }),
    });
    if (!account.SendingEnabled) return 'Amazon SES takes the keys, but sending is paused for this account';
    return `Amazon SES takes the keys${account.ProductionAccessEnabled ? '' : ', for verified recipients only: the account is in the sandbox'}`;
  },

  events: {
    key: 'snsTopicArn',
    open: ({ values, fetch, clock }) => {
      const read = openSns({ topic: values.snsTopicArn, fetch, clock });
      return async ({ body }) => {
        const message = await read(body);
        return message === undefined
          ? undefined
          : { deliveries: deliveries(message === null ? [] : [jsonOf(message)], Event) };
      };
    },
  },
});
