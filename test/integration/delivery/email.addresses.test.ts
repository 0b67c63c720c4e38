import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isUndeliverable } from '../../../src/delivery/email/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { CERTIFICATE_PATH, ses, type Teller, TELLERS } from '../../support/peers/mail-events.ts';
import { type Elsewhere, startElsewhere, type ToldApp, toldApp } from '../../support/worlds/mail/told.ts';

// Whether a mail that came back says anything about its address, by the documents of each provider.

type Told = (messageId: string) => unknown;
const cloudMail = ses();
const ofSes =
  (eventType: string, more: object): Told =>
  (messageId) => ({ eventType, mail: { messageId }, ...more });
const bounceOfSes = (bounceType: string, bounceSubType = 'General') =>
  ofSes('Bounce', { bounce: { bounceType, bounceSubType, bouncedRecipients: [] } });
const ofResend =
  (type: string, more: object = {}): Told =>
  (email_id) => ({ type, data: { email_id, ...more } });
const ofSendgrid =
  (event: string, more: object): Told =>
  (id) => [{ event, sg_message_id: `${id}.x`, ...more }];
const ofMailgun =
  (event: string, more: object): Told =>
  (id) => ({
    event,
    message: { headers: { 'message-id': id } },
    ...more,
  });
const ofPostmark =
  (Type: string, Inactive: boolean): Told =>
  (MessageID) => ({
    RecordType: 'Bounce',
    MessageID,
    Type,
    Inactive,
  });

const CASES: Record<string, { teller: Teller; bad: Told[]; other: Told[] }> = {
  resend: {
    teller: TELLERS['resend']!(),
    bad: [
      ofResend('email.bounced', { bounce: { type: 'Permanent', subType: 'General', message: 'No such mailbox' } }),
      ofResend('email.bounced'),
      ofResend('email.suppressed', { suppressed: { message: 'On the list', type: 'OnAccountSuppressionList' } }),
    ],
    other: [
      ofResend('email.bounced', { bounce: { type: 'Transient', subType: 'MailboxFull', message: 'Mailbox full' } }),
      ofResend('email.failed', { failed: { reason: 'reached_daily_quota' } }),
    ],
  },
  sendgrid: {
    teller: TELLERS['sendgrid']!(),
    bad: [
      ofSendgrid('bounce', { type: 'bounce', reason: '550 No such mailbox' }),
      ofSendgrid('dropped', { reason: 'Bounced Address' }),
      ofSendgrid('dropped', { reason: 'Invalid' }),
      ofSendgrid('dropped', { reason: 'Spam Reporting Address' }),
    ],
    other: [
      ofSendgrid('bounce', { type: 'blocked', reason: '554 Blocked by a list' }),
      ofSendgrid('dropped', { reason: 'Recipient List over Package Quota' }),
      ofSendgrid('dropped', { reason: 'Invalid SMTPAPI header' }),
    ],
  },
  mailgun: {
    teller: TELLERS['mailgun']!(),
    bad: [
      ofMailgun('failed', { severity: 'permanent', reason: 'bounce' }),
      ofMailgun('failed', { severity: 'permanent', reason: 'suppress-bounce' }),
    ],
    other: [
      ofMailgun('failed', { severity: 'permanent', reason: 'old' }),
      ofMailgun('failed', { severity: 'permanent', reason: 'generic' }),
      ofMailgun('rejected', { reject: { reason: 'Sandbox subdomains are for test purposes only' } }),
    ],
  },
  postmark: {
    teller: TELLERS['postmark']!(),
    bad: [ofPostmark('HardBounce', true), ofPostmark('BadEmailAddress', false), ofPostmark('SoftBounce', true)],
    other: [
      ofPostmark('Blocked', false),
      ofPostmark('SMTPApiError', false),
      ofPostmark('DMARCPolicy', false),
      ofPostmark('SpamNotification', false),
    ],
  },
  ses: {
    teller: cloudMail,
    bad: [bounceOfSes('Permanent'), bounceOfSes('Permanent', 'OnAccountSuppressionList')],
    other: [
      bounceOfSes('Transient', 'MailboxFull'),
      bounceOfSes('Undetermined', 'Undetermined'),
      ofSes('Reject', { reject: { reason: 'Bad content' } }),
      ofSes('Rendering Failure', { failure: { errorMessage: 'Attribute missing' } }),
    ],
  },
};

let db: Awaited<ReturnType<typeof testDatabase>>;
let elsewhere: Elsewhere;
beforeAll(async () => {
  db = await testDatabase();
  elsewhere = await startElsewhere(['sns.eu-west-1.amazonaws.com'], (path) =>
    path === CERTIFICATE_PATH ? { status: 200, body: cloudMail.certificate } : { status: 404, body: 'Not found' },
  );
});
afterAll(async () => {
  await elsewhere[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

let people = 0;
/** A mail to somebody who has got none, or to the one who got another. */
async function mailTo(app: ToldApp, to = `person-${(people += 1)}@example.com`, status = 'sent') {
  const mail = await app.mail(status);
  await db.sql`update emails set to_address = ${to} where id = ${mail.id}`;
  return { ...mail, to };
}
async function isSilent(to: string): Promise<boolean> {
  const [row] = await db.sql<{ is: boolean }[]>`select ${isUndeliverable(db.sql, db.sql`${to}::text`)} as is`;
  return row!.is;
}

describe.each(Object.entries(CASES))('a mail that came back by %s', (name, { teller, bad, other }) => {
  let app: ToldApp;
  beforeAll(async () => {
    app = await toldApp(db.sql, name, teller.env, elsewhere);
  });
  afterAll(() => app[Symbol.asyncDispose]());
  const tell = async (mail: { messageId: string }, told: Told) => {
    const sent = teller.tell({ kind: 'bounced', ...mail }, { raw: JSON.stringify(told(mail.messageId)) });
    expect((await app.send(sent)).status).toBe(200);
  };

  test('silences its address where that is the reason', async () => {
    for (const told of bad) {
      const mail = await mailTo(app);
      await tell(mail, told);
      expect([await app.statusOf(mail), await isSilent(mail.to)]).toEqual(['bounced', true]);
    }
  });

  test('silences nobody where it passes, or where the operator can correct it', async () => {
    for (const told of other) {
      const mail = await mailTo(app);
      await tell(mail, told);
      expect([JSON.stringify(told('')), await app.statusOf(mail), await isSilent(mail.to)]).toEqual([
        JSON.stringify(told('')),
        'bounced',
        false,
      ]);
    }
  });

  test('no longer silences an address at which a later mail has arrived; a complaint goes on doing so', async () => {
    const [back, disliked] = [await mailTo(app), await mailTo(app)];
    await tell(back, bad[0]!);
    await app.send(teller.tell({ kind: 'complained', messageId: disliked.messageId }));
    for (const { to } of [back, disliked]) await mailTo(app, to.toUpperCase(), 'delivered');
    expect([await isSilent(back.to), await isSilent(disliked.to)]).toEqual([false, true]);
    await db.sql`update emails set sent_at = sent_at - interval '1 day' where status = 'delivered'`;
    expect(await isSilent(back.to)).toBe(true);
  });
});
