// oxlint-disable max-lines -- one product and its mail services serve all cases
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import {
  CERTIFICATE_PATH,
  type Kind,
  type Sent,
  ses,
  SNS,
  type Teller,
  TELLERS,
  TOPIC,
} from '../../support/peers/mail-events.ts';
import { codeTo } from '../../support/worlds/mail/links.ts';
import { type Elsewhere, startElsewhere, type ToldApp, toldApp } from '../../support/worlds/mail/told.ts';

const sns = ses();
const tellers: [string, Teller][] = [
  ...Object.entries(TELLERS).map(([name, make]): [string, Teller] => [name, make()]),
  ['ses', sns],
];
const FORWARD: Kind[] = ['sent', 'delivered', 'opened', 'clicked'];

let db: Awaited<ReturnType<typeof testDatabase>>;
let elsewhere: Elsewhere;

beforeAll(async () => {
  db = await testDatabase();
  elsewhere = await startElsewhere(
    ['sns.eu-west-1.amazonaws.com', 'sns.eu-central-1.amazonaws.com', 'evil.example'],
    says,
  );
});
beforeEach(() => {
  elsewhere.says = says;
  elsewhere.asked.length = 0;
});
afterAll(async () => {
  await elsewhere[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
function says(path: string) {
  if (path === CERTIFICATE_PATH) return { status: 200, body: sns.certificate };
  if (path === '/other.pem') return { status: 200, body: sns.otherCertificate };
  return path.startsWith('/?Action=ConfirmSubscription')
    ? { status: 200, body: '<ConfirmSubscriptionResponse/>' }
    : { status: 404, body: 'Not found' };
}

describe.each(tellers)('mail events of %s', (name, teller) => {
  let app: ToldApp;
  const flip = (text: string, at: number) => text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
  const received = { status: 200, body: { received: true } };
  const refused = { status: 401, body: { code: 'unauthenticated' } };
  const tellAll = async (mail: { messageId: string }, kinds: readonly Kind[]) => {
    for (const kind of kinds)
      expect(await app.send(teller.tell({ kind, messageId: mail.messageId }))).toMatchObject(received);
  };

  beforeAll(async () => {
    app = await toldApp(db.sql, name, teller.env, elsewhere);
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test.each(teller.kinds.filter((kind) => kind !== 'sent'))(
    '`%s` is acknowledged, and moves only the mail that it names [EM1, EM4, EM5, S172]',
    async (kind) => {
      const [mail, other] = [await app.mail(), await app.mail()];
      expect(await app.send(teller.tell({ kind, messageId: mail.messageId }))).toMatchObject(received);
      expect([await app.statusOf(mail), await app.statusOf(other)]).toEqual([kind, 'sent']);
      const { last_error: reason } = await app.rowOf(mail);
      if (kind === 'bounced') expect(reason).toMatch(/No such mailbox/);
      if (kind === 'bounced') expect(reason).not.toContain('https://');
    },
  );

  test('an event before the answer to the sending call finds its mail by our own id, and the mail is not sent again [EM1]', async () => {
    for (const kind of teller.kinds) {
      const mail = await app.mail('queued');
      await app.send(teller.tell({ kind, messageId: mail.messageId, id: mail.id }));
      expect(await app.rowOf(mail)).toEqual({
        status: kind,
        last_error: kind === 'bounced' ? expect.any(String) : null,
        provider_message_id: mail.messageId,
        content: null,
        next_attempt_at: null,
        sent_at: expect.any(Date),
      });
    }
  });

  test('the status never goes back, in whatever order events arrive [EM2, S173, X20]', async () => {
    const told = FORWARD.filter((kind) => teller.kinds.includes(kind));
    for (const [n, kind] of told.entries()) {
      const mail = await app.mail();
      await tellAll(mail, [kind, ...told]);
      await tellAll(mail, told.toReversed());
      expect([kind, await app.statusOf(mail)]).toEqual([kind, 'clicked']);
      const later = await app.mail();
      await tellAll(later, [kind, ...told.slice(0, n)]);
      expect(await app.statusOf(later)).toBe(kind);
    }
  });

  test('the status bounced or complained is final, from any earlier state [EM3, S173, X20]', async () => {
    for (const last of ['bounced', 'complained'] as const)
      for (const before of ['queued', 'sent', 'delivered', 'opened', 'clicked']) {
        const mail = await app.mail(before);
        await app.send(teller.tell({ kind: last, messageId: mail.messageId, id: mail.id }));
        const row = await app.rowOf(mail);
        await tellAll(mail, [...teller.kinds, ...teller.kinds.toReversed()]);
        expect([before, row['status'], await app.rowOf(mail)]).toEqual([before, last, row]);
      }
  });

  test('a hundred events at once end in the furthest status, and each step is taken at most once [EM2]', async () => {
    const mail = await app.mail();
    app.forget();
    const told = FORWARD.filter((kind) => teller.kinds.includes(kind));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        app.send(teller.tell({ kind: told[n % told.length]!, messageId: mail.messageId })),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
    expect(await app.statusOf(mail)).toBe('clicked');
    const steps = app
      .moved()
      .filter(({ emailId }) => emailId === mail.id)
      .map(({ status }) => status);
    expect(steps).toEqual([...new Set(steps)]);
  });

  test('a repeated event is acknowledged and changes nothing [S172, X20]', async () => {
    const mail = await app.mail();
    const event = teller.tell({ kind: 'delivered', messageId: mail.messageId });
    app.forget();
    for (let n = 0; n < 3; n += 1) expect(await app.send(event)).toMatchObject(received);
    expect(app.moved()).toEqual([{ emailId: mail.id, status: 'delivered' }]);
    await tellAll(mail, ['opened']);
    expect(await app.send(event)).toMatchObject(received);
    expect(await app.statusOf(mail)).toBe('opened');
  });

  test('an event with one changed byte is refused [EM5, S172, X20]', async () => {
    const mail = await app.mail();
    const { headers, body } = teller.tell({ kind: 'delivered', messageId: mail.messageId });
    const places: Record<Teller['over'], number[]> = {
      bytes: [0, body.indexOf(mail.messageId), body.length - 1],
      values: [
        body.indexOf(mail.messageId) + 3,
        body.indexOf('"Signature":"') + 20,
        body.indexOf('"MessageId":"') + 15,
      ],
      token: [body.indexOf('"token":"') + 12, body.indexOf('"signature":"') + 14],
      nothing: [],
    };
    for (const at of places[teller.over])
      expect([at, await app.send({ headers, body: flip(body, at) })]).toMatchObject([at, refused]);
    for (const header of Object.keys(headers).filter((one) => /signature|timestamp|svix-id|authorization/.test(one)))
      for (const value of [flip(headers[header]!, Math.floor(headers[header]!.length / 2)), '', 'x'])
        expect([header, value, await app.send({ body, headers: { ...headers, [header]: value } })]).toMatchObject([
          header,
          value,
          refused,
        ]);
    expect(await app.statusOf(mail)).toBe('sent');
  });

  if (teller.over === 'bytes')
    test('an event in other bytes with the same meaning is refused [EM5, X20]', async () => {
      const mail = await app.mail();
      const { headers, body } = teller.tell({ kind: 'delivered', messageId: mail.messageId });
      expect(await app.send({ headers, body: JSON.stringify(JSON.parse(body), null, 1) })).toMatchObject(refused);
      expect(await app.statusOf(mail)).toBe('sent');
    });

  if (teller.over !== 'nothing')
    test(`an event signed more than ${teller.lateS} seconds ago, or 300 ahead, is refused; until then it is accepted as a possible redelivery [X20]`, async () => {
      const now = new Date();
      const ago = (s: number) => new Date(now.getTime() - s * 1_000);
      await using held = await toldApp(db.sql, name, teller.env, elsewhere, { ...systemClock, now: () => now });
      const mail = await held.mail();
      for (const at of [ago(teller.lateS + 1), ago(-302), new Date(0)])
        expect(await held.send(teller.tell({ kind: 'delivered', messageId: mail.messageId }, { at }))).toMatchObject(
          refused,
        );
      expect(await held.statusOf(mail)).toBe('sent');
      for (const at of [ago(teller.lateS - 1), ago(-300)])
        expect(await held.send(teller.tell({ kind: 'delivered', messageId: mail.messageId }, { at }))).toMatchObject(
          received,
        );
      expect(await held.statusOf(mail)).toBe('delivered');
    });

  test('an event without a signature, with another key, or without a configured key is refused [EM5, S172, X20]', async () => {
    const mail = await app.mail();
    expect(
      await app.send(teller.tell({ kind: 'delivered', messageId: mail.messageId }, { wrongKey: true })),
    ).toMatchObject(refused);
    const genuine = teller.tell({ kind: 'delivered', messageId: mail.messageId });
    if (Object.keys(genuine.headers).some((one) => one !== 'content-type' && !one.startsWith('x-amz')))
      expect(
        await app.send({ body: genuine.body, headers: { 'content-type': genuine.headers['content-type']! } }),
      ).toMatchObject(refused);
    const { EMAIL_WEBHOOK_SECRET: _, ...env } = teller.env;
    await using without = await toldApp(db.sql, name, env, elsewhere);
    expect(await without.send(genuine)).toMatchObject(refused);
    expect(await app.statusOf(mail)).toBe('sent');
  });

  test('events of every other provider are refused [X20]', async () => {
    for (const [other, { tell }] of tellers)
      if (other !== name)
        expect([other, await app.send(tell({ kind: 'delivered', messageId: 'x' }))]).toMatchObject([other, refused]);
  });

  test('an unknown mail, an unknown event and other content are acknowledged, and change nothing [S172]', async () => {
    app.forget();
    const strange = ['[', '"', '', '\0', '{"a":1e999}', '[[[[[[', '{"__proto__":{"event":"delivered"}}', 'null', '"x"'];
    const raws = [
      ...teller.odd.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))),
      ...(teller.over === 'token' ? ['null', '[]', '7'] : strange),
    ];
    for (const raw of raws)
      expect([raw, await app.send(teller.tell({ kind: 'delivered', messageId: 'x' }, { raw }))]).toMatchObject([
        raw,
        received,
      ]);
    const ids = ['unknown', '', ' ', '\0', 'é', 'x'.repeat(5_000), `${randomUUID()}'; drop table emails; --`, '\ud800'];
    for (const messageId of ids)
      for (const id of [undefined, '', 'x', '\0', randomUUID()])
        expect([
          messageId,
          id,
          await app.send(teller.tell({ kind: 'bounced', messageId, ...(id !== undefined && { id }) })),
        ]).toMatchObject([messageId, id, received]);
    expect(app.moved()).toEqual([]);
  });

  test('every malformed request is refused with a 4xx [S172, X20]', async () => {
    const bodies = [
      '',
      '{',
      'null',
      '[]',
      '{"signature":{}}',
      '{"signature":{"timestamp":1,"token":"x","signature":"y"}}',
      '{"Type":"Notification"}',
      '\0',
      '\ud800',
      'x'.repeat(10_000),
    ];
    const headers = [
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'multipart/form-data' },
      { 'content-encoding': 'gzip' },
      { authorization: 'Basic ====' },
      { authorization: 'Basic Og==' },
    ];
    for (const body of bodies)
      for (const more of headers)
        expect([body, more, await app.send({ body, headers: more })]).toMatchObject([body, more, refused]);
    expect((await app.send({ body: 'x'.repeat(2_000_001), headers: {} })).status).toBe(413);
  });

  test('the route needs no login and no CSRF token, and a login does not replace a signature [EM6]', async () => {
    const ann = await app.signUp();
    const { body: activated } = await ann.client.post('/auth/activate', {
      code: await codeTo(app.context, ann.email, 'activation'),
    });
    expect([activated, (await ann.client.get('/user/self')).status]).toEqual([{ can: true }, 200]);
    const mail = await app.mail();
    const { headers, body } = teller.tell({ kind: 'delivered', messageId: mail.messageId });
    expect(
      await ann.client.send('POST', '/webhooks/email', body, { ...headers, 'x-csrf-token': undefined }),
    ).toMatchObject(received);
    const forged = teller.tell({ kind: 'opened', messageId: mail.messageId }, { wrongKey: true });
    expect(await ann.client.send('POST', '/webhooks/email', forged.body, forged.headers)).toMatchObject(refused);
    expect(await app.statusOf(mail)).toBe('delivered');
  });

  test('an event of one provider does not move a mail sent by another', async () => {
    const mail = await app.mail();
    await db.sql`update emails set provider_id = 'smtp' where id = ${mail.id}`;
    expect(await app.send(teller.tell({ kind: 'bounced', messageId: mail.messageId, id: mail.id }))).toMatchObject(
      received,
    );
    expect(await app.statusOf(mail)).toBe('sent');
  });
});

describe('mail events of sendgrid', () => {
  test('a batch tells of many mails in any order, some twice and some unknown, and two batches do not wait for each other [EM2]', async () => {
    const [, teller] = tellers.find(([name]) => name === 'sendgrid')!;
    await using app = await toldApp(db.sql, 'sendgrid', teller.env, elsewhere);
    const mails = await Promise.all(Array.from({ length: 120 }, () => app.mail()));
    const happened = mails.flatMap(({ messageId }, n) => [
      { kind: 'clicked' as const, messageId },
      { kind: 'delivered' as const, messageId },
      ...(n % 3 === 0
        ? [
            { kind: 'bounced' as const, messageId },
            { kind: 'complained' as const, messageId },
          ]
        : []),
      { kind: 'opened' as const, messageId: `unknown-${n}` },
    ]);
    const batches = [
      happened,
      happened.toReversed(),
      happened.toSorted((a, b) => (a.messageId < b.messageId ? 1 : -1)),
      happened,
    ];
    const answers = await Promise.all([...batches, ...batches].map((batch) => app.send(teller.tell(batch))));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const statuses = await Promise.all(mails.map((mail) => app.statusOf(mail)));
    for (const [n, status] of statuses.entries())
      expect(n % 3 === 0 ? ['bounced', 'complained'] : ['clicked']).toContain(status);
  });
});

describe('mail events of mailgun', () => {
  const [, teller] = tellers.find(([name]) => name === 'mailgun')!;
  const inPlaceOf = ({ headers, body }: Sent, messageId: string, other: string): Sent => ({
    headers,
    body: body.replace(messageId, other),
  });

  test('a token proves one event: of a hundred others at once all are refused but one, and that one may be repeated [X20]', async () => {
    await using app = await toldApp(db.sql, 'mailgun', teller.env, elsewhere);
    const mails = await Promise.all(Array.from({ length: 100 }, () => app.mail()));
    const signed = teller.tell({ kind: 'delivered', messageId: mails[0]!.messageId });
    const events = mails.map(({ messageId }) => inPlaceOf(signed, mails[0]!.messageId, messageId));
    const answers = await Promise.all(events.map((event) => app.send(event)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(99).fill(401)]);
    const first = answers.findIndex(({ status }) => status === 200);
    const statuses = await Promise.all(mails.map((mail) => app.statusOf(mail)));
    expect(statuses).toEqual(mails.map((_, n) => (n === first ? 'delivered' : 'sent')));
    expect((await app.send(events[first]!)).status).toBe(200);
    expect((await app.send(events[(first + 1) % 100]!)).status).toBe(401);
  });

  test('a token is kept while it could pass as fresh, and deleted after a day', async () => {
    await using app = await toldApp(db.sql, 'mailgun', teller.env, elsewhere);
    await app.send(teller.tell({ kind: 'delivered', messageId: 'x' }));
    const count = async () => (await db.sql`select 1 from email_event_tokens`).length;
    const before = await count();
    await app.context.email.dropOld(1_000);
    expect(await count()).toBe(before);
    await db.sql`update email_event_tokens set seen_at = now() - interval '25 hours'`;
    expect(await app.context.email.dropOld(1_000)).toBe(before);
    expect(await count()).toBe(0);
  });
});

describe('mail events of postmark', () => {
  test('the credential is accepted as password or as header, with any user name [EM5]', async () => {
    const [, teller] = tellers.find(([name]) => name === 'postmark')!;
    await using app = await toldApp(db.sql, 'postmark', teller.env, elsewhere);
    const secret = teller.env['EMAIL_WEBHOOK_SECRET']!;
    const { body } = teller.tell({ kind: 'delivered', messageId: 'x' });
    const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    for (const headers of [basic(`anyone:${secret}`), basic(`:${secret}`), { 'x-webhook-secret': secret }])
      expect((await app.send({ headers, body })).status).toBe(200);
    const wrong = [
      basic(secret.slice(1)),
      basic(`${secret}:`),
      basic(`a:${secret}x`),
      basic(''),
      { authorization: `Bearer ${secret}` },
      { 'x-webhook-secret': '' },
      { 'x-webhook-secret': secret.toUpperCase() },
    ];
    for (const headers of wrong) expect([headers, (await app.send({ headers, body })).status]).toEqual([headers, 401]);
  });
});

describe('mail events of ses', () => {
  let app: ToldApp;
  const message = (messageId: string) => JSON.stringify({ eventType: 'Delivery', mail: { messageId } });
  const { envelope } = sns;

  beforeEach(async () => {
    app = await toldApp(db.sql, 'ses', sns.env, elsewhere);
  });
  afterEach(() => app[Symbol.asyncDispose]());

  test('a SHA-256 signature is accepted with and without subject, with one fetch of the certificate; SHA-1 is refused [EM5, EM7]', async () => {
    for (const Subject of [undefined, 'Amazon SES Email Event Notification', '']) {
      const mail = await app.mail();
      expect(
        (await app.send(envelope({ SignatureVersion: '1', Subject, Message: message(mail.messageId) }))).status,
      ).toBe(401);
      expect(await app.statusOf(mail)).not.toBe('delivered');
      expect((await app.send(envelope({ Subject, Message: message(mail.messageId) }))).status).toBe(200);
      expect(await app.statusOf(mail)).toBe('delivered');
    }
    await Promise.all(Array.from({ length: 50 }, () => app.send(envelope({}))));
    expect(elsewhere.asked).toEqual([`GET ${SNS}${CERTIFICATE_PATH}`]);
  });

  test('events of an identity count as those of a configuration set do', async () => {
    const mail = await app.mail();
    await app.send(
      envelope({ Message: JSON.stringify({ notificationType: 'Complaint', mail: { messageId: mail.messageId } }) }),
    );
    expect(await app.statusOf(mail)).toBe('complained');
  });

  test('an event of another topic is refused despite a valid signature, and nothing is fetched for it [EM7, S172]', async () => {
    const topics = [
      'arn:aws:sns:eu-west-1:210987654321:mail',
      'arn:aws:sns:eu-west-1:123456789012:mail2',
      'arn:aws:sns:eu-central-1:123456789012:mail',
      TOPIC.toUpperCase(),
      '',
    ];
    for (const TopicArn of topics)
      expect([TopicArn, (await app.send(envelope({ TopicArn }))).status]).toEqual([TopicArn, 401]);
    expect(elsewhere.asked).toEqual([]);
  });

  const PLACES = [
    `http://sns.eu-west-1.amazonaws.com${CERTIFICATE_PATH}`,
    `https://evil.example${CERTIFICATE_PATH}`,
    `https://sns.eu-west-1.amazonaws.com.evil.example${CERTIFICATE_PATH}`,
    `https://evil.example/sns.eu-west-1.amazonaws.com.pem`,
    `https://sns.eu-west-1.amazonaws.com@evil.example${CERTIFICATE_PATH}`,
    `https://user:password@sns.eu-west-1.amazonaws.com${CERTIFICATE_PATH}`,
    `https://sns.eu-west-1.amazonaws.com:8443${CERTIFICATE_PATH}`,
    `https://sns.eu-central-1.amazonaws.com${CERTIFICATE_PATH}`,
    `https://bucket.s3.eu-west-1.amazonaws.com/sns.pem`,
    `https://sns.eu-west-1.amazonaws.com.${CERTIFICATE_PATH}`,
    `https://sns.eu-west-1.amazonaws.com/?x=.pem`,
    `https://sns.eu-west-1.amazonaws.com/a.pem?x=1`,
    `https://sns.eu-west-1.amazonaws.com/a.txt`,
    `https://evil.example\\@sns.eu-west-1.amazonaws.com/a.pem`,
    'https://169.254.169.254/latest/meta-data/a.pem',
    'file:///etc/ssl/a.pem',
    'javascript:a.pem',
    '',
  ];
  test.each(PLACES)('a certificate is fetched only from the host of the topic: %s [EM8]', async (SigningCertURL) => {
    expect((await app.send(envelope({ SigningCertURL }))).status).toBe(401);
    expect(elsewhere.asked).toEqual([]);
  });

  test('an invalid, foreign or missing certificate proves nothing, and a redirect is not followed', async () => {
    for (const [path, said] of [
      ['/other.pem', says('/other.pem')],
      ['/none.pem', { status: 404, body: '' }],
      ['/text.pem', { status: 200, body: 'hello' }],
      ['/elsewhere.pem', { status: 302, body: '' }],
    ] as const) {
      elsewhere.says = () => said;
      expect([path, (await app.send(envelope({ SigningCertURL: SNS + path }))).status]).toEqual([path, 401]);
    }
    expect(elsewhere.asked.every((one) => one.startsWith(`GET ${SNS}/`))).toBe(true);
    elsewhere.says = says;
    expect((await app.send(envelope({}))).status).toBe(200);
  });

  test('an event is refused for redelivery while the certificate host does not answer', async () => {
    const mail = await app.mail();
    const event = envelope({ Message: message(mail.messageId) });
    elsewhere.says = () => 'hang up';
    expect((await app.send(event)).status).toBe(502);
    elsewhere.says = () => ({ status: 503, body: '' });
    expect((await app.send(event)).status).toBe(502);
    elsewhere.says = says;
    expect((await app.send(event)).status).toBe(200);
    expect(await app.statusOf(mail)).toBe('delivered');
  });

  const SUBSCRIBE = `${SNS}/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=2336412f37`;
  const confirmation = (SubscribeURL: string | undefined) =>
    envelope({
      Type: 'SubscriptionConfirmation',
      Token: '2336412f37',
      Message: 'You have chosen to subscribe',
      SubscribeURL,
    });

  test('the subscription to the topic is confirmed at the host of the topic [EM8]', async () => {
    expect(await app.send(confirmation(SUBSCRIBE))).toMatchObject({ status: 200, body: { received: true } });
    expect(elsewhere.asked).toEqual([`GET ${SNS}${CERTIFICATE_PATH}`, `GET ${SUBSCRIBE}`]);
    expect(
      (await app.send(envelope({ Type: 'UnsubscribeConfirmation', Token: '1', SubscribeURL: SUBSCRIBE }))).status,
    ).toBe(200);
    expect(elsewhere.asked).toHaveLength(2);
  });

  test('a confirmation leads to no other host, despite a valid signature [EM8]', async () => {
    const urls = [
      SUBSCRIBE.replace('sns.eu-west-1.amazonaws.com', 'evil.example'),
      SUBSCRIBE.replace('https:', 'http:'),
      SUBSCRIBE.replace('eu-west-1.amazonaws', 'eu-central-1.amazonaws'),
      SUBSCRIBE.replace(TOPIC, 'arn:aws:sns:eu-west-1:210987654321:mail'),
      SUBSCRIBE.replace('ConfirmSubscription', 'DeleteTopic'),
      SUBSCRIBE.replace('https://', 'https://a:b@'),
      'http://169.254.169.254/latest/meta-data/',
      '',
      undefined,
    ];
    for (const url of urls) expect([url, (await app.send(confirmation(url))).status]).toEqual([url, 401]);
    expect(elsewhere.asked).toEqual([`GET ${SNS}${CERTIFICATE_PATH}`]);
    const unsigned = JSON.parse(confirmation(SUBSCRIBE).body) as Record<string, string>;
    expect((await app.send({ headers: {}, body: JSON.stringify({ ...unsigned, Signature: 'AAAA' }) })).status).toBe(
      401,
    );
    expect(elsewhere.asked).toHaveLength(1);
  });

  test('a failed confirmation is refused for redelivery', async () => {
    await app.send(envelope({}));
    for (const said of ['hang up', { status: 403, body: '' }, { status: 302, body: '' }] as const) {
      elsewhere.says = () => said;
      expect((await app.send(confirmation(SUBSCRIBE))).status).toBe(502);
    }
    expect(elsewhere.asked.filter((one) => one.includes('elsewhere.example'))).toEqual([]);
  });
});
