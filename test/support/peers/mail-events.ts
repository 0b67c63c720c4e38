import { execFileSync } from 'node:child_process';
import { createHmac, createSign, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Delivery events as the providers of mail send and sign them, by their documents. Nothing of the product is in here.

export type Kind = 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained';
export interface Happened {
  kind: Kind;
  messageId: string;
  /** What the mail was sent with. */
  id?: string;
}
export interface Sent {
  headers: Record<string, string>;
  body: string;
}
interface How {
  /** When it was signed. */
  at?: Date;
  /** Signed with a key that nobody knows. */
  wrongKey?: boolean;
  /** What is sent in the place of an event that is documented. */
  raw?: string;
}
export interface Teller {
  /** Settings of the deployment beside EMAIL_PROVIDER. */
  env: Record<string, string>;
  /** What it tells of at all. */
  kinds: readonly Kind[];
  tell(happened: Happened | readonly Happened[], how?: How): Sent;
  /** Something that it tells, and that is no event of a mail of ours. */
  odd: readonly unknown[];
  /** What the signature is over: every byte, the values, a token alone, or nothing. */
  over: 'bytes' | 'values' | 'token' | 'nothing';
  /**
   * How long after it was signed it may be delivered: where it is sent again with the time of its first sending, as
   * long as that goes on.
   */
  lateS: number;
}

const seconds = (at: Date) => String(Math.floor(at.getTime() / 1000));
const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest();
const first = <T>(given: T | readonly T[]): T => (Array.isArray(given) ? (given as readonly T[])[0]! : (given as T));
const FROM = { EMAIL_FROM_ADDRESS: 'no-reply@example.com', EMAIL_API_KEY: 'key-0123456789' };

function resend(): Teller {
  const key = randomBytes(24);
  const event = ({ kind, messageId, id }: Happened) => ({
    type: `email.${kind}`,
    created_at: '2026-01-01T00:00:00.000Z',
    data: {
      email_id: messageId,
      created_at: '2026-01-01T00:00:00.000Z',
      from: 'Rookery <no-reply@example.com>',
      to: ['ann@example.com'],
      subject: 'Hello',
      ...(id && { tags: { mail_id: id } }),
      ...(kind === 'bounced' && {
        bounce: {
          type: 'Permanent',
          subType: 'General',
          message: 'No such mailbox, see https://help.example/550',
          diagnosticCode: ['smtp; 550 5.1.1'],
        },
      }),
    },
  });
  return {
    env: { ...FROM, EMAIL_WEBHOOK_SECRET: `whsec_${key.toString('base64')}` },
    kinds: ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'],
    over: 'bytes',
    lateS: 300,
    odd: [
      { type: 'email.delivery_delayed', data: { email_id: 'x' } },
      { type: 'contact.created', data: {} },
      { type: 'email.sent' },
      { type: 1, data: null },
    ],
    tell(happened, { at = new Date(), wrongKey = false, raw } = {}) {
      const [id, time, body] = [`msg_${randomUUID()}`, seconds(at), raw ?? JSON.stringify(event(first(happened)))];
      const signature = hmac(wrongKey ? randomBytes(24) : key, `${id}.${time}.${body}`).toString('base64');
      const old = randomBytes(32).toString('base64'); // of a key that is being replaced
      return {
        body,
        headers: {
          'content-type': 'application/json',
          'svix-id': id,
          'svix-timestamp': time,
          'svix-signature': `v1,${old} v1,${signature}`,
        },
      };
    },
  };
}

function sendgrid(): Teller {
  const pair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const { publicKey, privateKey } = pair();
  const NAMES = {
    sent: 'processed',
    delivered: 'delivered',
    opened: 'open',
    clicked: 'click',
    bounced: 'bounce',
    complained: 'spamreport',
  };
  const event = ({ kind, messageId, id }: Happened) => ({
    email: 'ann@example.com',
    timestamp: 1767225600,
    event: NAMES[kind],
    sg_event_id: randomBytes(12).toString('base64url'),
    sg_message_id: `${messageId}.filterdrecv-5645d9c87f-78xgb-1-5E8C5D92-16.0`,
    ...(id && { mail_id: id }),
    ...(kind === 'bounced' && { type: 'bounce', reason: '550 No such mailbox', status: '5.1.1' }),
  });
  return {
    env: { ...FROM, EMAIL_WEBHOOK_SECRET: publicKey.export({ format: 'der', type: 'spki' }).toString('base64') },
    kinds: ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'],
    over: 'bytes',
    lateS: 300,
    odd: [
      [],
      {},
      [null, 1, 'x', {}],
      [{ event: 'deferred', sg_message_id: 'x' }],
      [{ event: 'delivered' }],
      [{ event: 'delivered', sg_message_id: 7 }],
    ],
    tell(happened, { at = new Date(), wrongKey = false, raw } = {}) {
      const [time, body] = [seconds(at), raw ?? `${JSON.stringify([happened].flat().map(event))}\r\n`];
      const signature = createSign('sha256')
        .update(time + body)
        .sign(wrongKey ? pair().privateKey : privateKey, 'base64');
      const prefix = 'x-twilio-email-event-webhook';
      return {
        body,
        headers: {
          'content-type': 'application/json',
          [`${prefix}-signature`]: signature,
          [`${prefix}-timestamp`]: time,
        },
      };
    },
  };
}

function mailgun(): Teller {
  const key = randomBytes(16).toString('hex');
  const NAMES = {
    sent: 'accepted',
    delivered: 'delivered',
    opened: 'opened',
    clicked: 'clicked',
    bounced: 'failed',
    complained: 'complained',
  };
  const event = ({ kind, messageId, id }: Happened) => ({
    event: NAMES[kind],
    id: randomBytes(12).toString('base64url'),
    timestamp: 1767225600.1,
    recipient: 'ann@example.com',
    message: { headers: { 'message-id': messageId, to: 'ann@example.com' } },
    'user-variables': id ? { mail_id: id } : {},
    ...(kind === 'bounced' && {
      severity: 'permanent',
      reason: 'bounce',
      'delivery-status': { code: 550, message: '550 No such mailbox' },
    }),
  });
  return {
    env: { ...FROM, EMAIL_DOMAIN: 'mg.example.com', EMAIL_WEBHOOK_SECRET: key },
    kinds: ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'],
    over: 'token',
    lateS: 12 * 3_600,
    odd: [
      null,
      {},
      { event: 'failed', severity: 'temporary', message: { headers: { 'message-id': 'x' } } },
      { event: 'unsubscribed' },
      { event: 'delivered', message: {} },
    ],
    tell(happened, { at = new Date(), wrongKey = false, raw } = {}) {
      const [timestamp, token] = [seconds(at), randomBytes(25).toString('hex')];
      const signature = hmac(wrongKey ? randomBytes(16).toString('hex') : key, timestamp + token).toString('hex');
      const data = raw ?? JSON.stringify(event(first(happened)));
      return {
        headers: { 'content-type': 'application/json' },
        body: `{"signature":${JSON.stringify({ timestamp, token, signature })},"event-data":${data}}`,
      };
    },
  };
}

function postmark(): Teller {
  const password = randomBytes(24).toString('base64url');
  const NAMES = {
    sent: '',
    delivered: 'Delivery',
    opened: 'Open',
    clicked: 'Click',
    bounced: 'Bounce',
    complained: 'SpamComplaint',
  };
  const event = ({ kind, messageId, id }: Happened) => ({
    RecordType: NAMES[kind],
    MessageID: messageId,
    MessageStream: 'outbound',
    Metadata: id ? { mail_id: id } : {},
    ...(kind === 'bounced' && {
      ID: 42,
      Type: 'HardBounce',
      TypeCode: 1,
      Description: 'The server was unable to deliver',
      Details: '550 No such mailbox',
      Inactive: true,
    }),
  });
  return {
    env: { ...FROM, EMAIL_WEBHOOK_SECRET: password },
    kinds: ['delivered', 'opened', 'clicked', 'bounced', 'complained'],
    over: 'nothing',
    lateS: Infinity,
    odd: [
      null,
      [],
      { RecordType: 'SubscriptionChange', MessageID: 'x' },
      { RecordType: 'Bounce', MessageID: 'x', Type: 'SoftBounce' },
      { RecordType: 'Delivery', MessageID: 7 },
    ],
    tell(happened, { wrongKey = false, raw } = {}) {
      const given = Buffer.from(`webhook:${wrongKey ? randomBytes(24).toString('base64url') : password}`).toString(
        'base64',
      );
      return {
        body: raw ?? JSON.stringify(event(first(happened))),
        headers: { 'content-type': 'application/json', authorization: `Basic ${given}` },
      };
    },
  };
}

/** A key of RSA with a certificate of its own, made with the `openssl` of the path. */
function signingCertificate(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-signing-'));
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=sns.amazonaws.com',
        '-keyout',
        key,
        '-out',
        cert,
      ],
      {
        stdio: 'pipe',
      },
    );
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:mail';
export const SNS = 'https://sns.eu-west-1.amazonaws.com';
export const CERTIFICATE_PATH = '/SimpleNotificationService-0123456789abcdef.pem';
type Envelope = Record<string, string>;

/** Amazon SES behind a topic of SNS; `envelope` signs whatever it is given. */
export function ses() {
  const { key, cert } = signingCertificate();
  const other = signingCertificate();
  const NAMES = {
    sent: 'Send',
    delivered: 'Delivery',
    opened: 'Open',
    clicked: 'Click',
    bounced: 'Bounce',
    complained: 'Complaint',
  };
  const event = ({ kind, messageId, id }: Happened) => ({
    eventType: NAMES[kind],
    mail: {
      timestamp: '2026-01-01T00:00:00.000Z',
      messageId,
      destination: ['ann@example.com'],
      tags: { 'ses:operation': ['SendEmail'], ...(id && { mail_id: [id] }) },
    },
    ...(kind === 'bounced' && {
      bounce: {
        bounceType: 'Permanent',
        bounceSubType: 'General',
        bouncedRecipients: [{ emailAddress: 'ann@example.com', diagnosticCode: 'smtp; 550 No such mailbox' }],
      },
    }),
  });
  /** SignatureVersion 2 unless told otherwise; fields that are undefined are left away. */
  function envelope(more: Record<string, string | undefined>, { at = new Date(), wrongKey = false }: How = {}): Sent {
    const given = {
      Type: 'Notification',
      MessageId: randomUUID(),
      TopicArn: TOPIC,
      Message: '{}',
      Timestamp: at.toISOString(),
      SignatureVersion: '2',
      SigningCertURL: SNS + CERTIFICATE_PATH,
      UnsubscribeURL: `${SNS}/?Action=Unsubscribe`,
      ...more,
    };
    const whole = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Envelope;
    const order =
      whole['Type'] === 'Notification'
        ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
        : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
    const text = order.flatMap((name) => (whole[name] === undefined ? [] : [name, whole[name]])).join('\n') + '\n';
    const Signature = createSign(whole['SignatureVersion'] === '1' ? 'sha1' : 'sha256')
      .update(text)
      .sign(wrongKey ? other.key : key, 'base64');
    return {
      body: JSON.stringify({ Signature, ...whole }),
      headers: { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': whole['Type']! },
    };
  }
  const teller: Teller = {
    env: { ...FROM, EMAIL_ACCESS_KEY_ID: 'AKIA0123456789', EMAIL_REGION: 'eu-west-1', EMAIL_WEBHOOK_SECRET: TOPIC },
    kinds: ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'],
    over: 'values',
    lateS: 65 * 60,
    odd: [
      'Successfully validated SNS topic for Amazon SES event publishing.',
      null,
      {},
      { eventType: 'DeliveryDelay', mail: { messageId: 'x' } },
      { eventType: 'Send', mail: {} },
    ],
    tell: (happened, how = {}) => envelope({ Message: how.raw ?? JSON.stringify(event(first(happened))) }, how),
  };
  return { ...teller, envelope, certificate: cert, otherCertificate: other.cert };
}

export const TELLERS: Readonly<Record<'resend' | 'sendgrid' | 'mailgun' | 'postmark', () => Teller>> = {
  resend,
  sendgrid,
  mailgun,
  postmark,
};
