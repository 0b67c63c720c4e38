import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Kind, TELLERS } from '../../support/peers/mail-events.ts';

// A mail by the API of a provider and back: sent by the sender, told of by the provider, in the order of the real
// world.

const teller = TELLERS.resend();

let db: Awaited<ReturnType<typeof testDatabase>>;
let server: Server;
let app: Awaited<ReturnType<typeof testApp>>;
let sender: AsyncDisposable;
/** Mails as the provider got them, by their idempotency key; asked twice, one mail. */
const taken = new Map<string, { messageId: string; to: string }>();
let asked = 0;
/** What becomes of a call, beside the mail. */
let meanwhile: (mail: { messageId: string; id: string }, response: ServerResponse) => Promise<void>;
let refusal: { status: number; headers: Record<string, string>; name: string } | undefined;

const tell = (kind: Kind, messageId: string, id?: string) => {
  const { headers, body } = teller.tell({ kind, messageId, ...(id !== undefined && { id }) });
  return app.client().send('POST', '/webhooks/email', body, headers);
};

async function serve(request: IncomingMessage, response: ServerResponse) {
  asked += 1;
  let text = '';
  for await (const piece of request) text += piece;
  if (refusal)
    return response
      .writeHead(refusal.status, refusal.headers)
      .end(JSON.stringify({ name: refusal.name, message: 'Refused' }));
  const { to } = JSON.parse(text) as { to: string[] };
  const id = request.headers['idempotency-key'] as string;
  const mail = taken.get(id) ?? { messageId: `re-${taken.size + 1}`, to: to[0]! };
  taken.set(id, mail);
  await meanwhile({ ...mail, id }, response);
  return response.destroyed || response.end(JSON.stringify({ id: mail.messageId }));
}

beforeAll(async () => {
  db = await testDatabase();
  server = createServer((request, response) => void serve(request, response));
  server.keepAliveTimeout = 0; // the sender closes its connections, so that none is closed under a request
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  app = await testApp({
    sql: db.sql,
    env: { EMAIL_PROVIDER: 'resend', ...teller.env },
    servers: { 'email/resend': `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  });
});
beforeEach(() => {
  [meanwhile, refusal, asked] = [async () => undefined, undefined, 0];
  taken.clear();
  sender = app.context.email.startSender({ restMs: 20 })!;
});
afterEach(async () => {
  await sender[Symbol.asyncDispose]();
  await db.sql`delete from emails`;
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  await db[Symbol.asyncDispose]();
});

const queue = (to: string) =>
  app.context.email.queue(db.sql, {
    to,
    orgId: null,
    content: { template: 'password-changed', data: { name: 'Ann' } },
  });
const rowOf = async (to: string) =>
  (
    await db.sql`
      select status, attempts, provider_id, provider_message_id, content, last_error, next_attempt_at - now() as wait
      from emails
      where to_address = ${to}`
  )[0]!;
const is = (to: string, status: string) =>
  eventually(`the mail to ${to} is ${status}`, async () => (await rowOf(to))['status'] === status);

test('a mail goes to the provider, and the events of the provider arrive in the log [EM1, EM4]', async () => {
  await queue('ann@example.com');
  await is('ann@example.com', 'sent');
  const { provider_message_id: messageId } = await rowOf('ann@example.com');
  expect([...taken.values()]).toEqual([{ messageId, to: 'ann@example.com' }]);
  for (const kind of ['delivered', 'opened', 'clicked', 'delivered'] as const)
    expect((await tell(kind, messageId as string)).status).toBe(200);
  expect(await rowOf('ann@example.com')).toMatchObject({
    status: 'clicked',
    attempts: 1,
    provider_id: 'resend',
    content: null,
  });
});

test('an event that arrives before the answer is kept, and the answer does not revert it [EM2]', async () => {
  meanwhile = async ({ messageId, id }) => void (await tell('delivered', messageId, id));
  await queue('fast@example.com');
  await is('fast@example.com', 'delivered');
  await sender[Symbol.asyncDispose](); // ends when the attempt has
  expect(await rowOf('fast@example.com')).toMatchObject({
    status: 'delivered',
    provider_message_id: 're-1',
    content: null,
  });
});

test('a mail whose answer is lost is not sent again once an event of the provider confirms it', async () => {
  meanwhile = async ({ messageId, id }, response) => {
    await tell('sent', messageId, id);
    response.destroy();
  };
  await queue('lost@example.com');
  await is('lost@example.com', 'sent');
  await db.sql`update emails set next_attempt_at = now() where status = 'queued'`;
  await sender[Symbol.asyncDispose]();
  expect([asked, await rowOf('lost@example.com')]).toMatchObject([
    1,
    { status: 'sent', provider_message_id: 're-1', content: null },
  ]);
});

test('a mail whose answer is lost is sent again under the same key, and is one mail', async () => {
  let lost = 0;
  meanwhile = async (_, response) => {
    lost += 1;
    if (lost < 3) response.destroy();
  };
  await queue('twice@example.com');
  for (const attempts of [1, 2]) {
    await eventually(
      'it was tried',
      async () =>
        (await rowOf('twice@example.com'))['attempts'] === attempts &&
        (await rowOf('twice@example.com'))['last_error'] !== null,
    );
    await db.sql`update emails set next_attempt_at = now(), last_error = null`;
  }
  await is('twice@example.com', 'sent');
  expect([asked, taken.size]).toEqual([3, 1]);
});

test('the log says why when the settings of the provider cannot be used, and the mail waits longer each time', async () => {
  const { vault } = app.context; // settings of the instance, as a version that asked for less would have left them
  await db.sql`
    insert into provider_settings (id, domain, provider_id, provider_version, name, is_default, options, credentials)
    values (${newId()}, 'email', 'resend', 'v1', 'Mail', true, '{"fromAddress": "from@example.com"}',
      ${vault.seal('{}')})`;
  await queue('later@example.com');
  await eventually('it was tried', async () => (await rowOf('later@example.com'))['last_error'] !== null);
  expect(await rowOf('later@example.com')).toMatchObject({
    status: 'queued',
    attempts: 1,
    last_error: expect.stringContaining('API key: is needed'),
  });
  await db.sql`delete from provider_settings`;
  await db.sql`update emails set next_attempt_at = now()`;
  await is('later@example.com', 'sent');
});

test('a mail waits as long as the provider says, and is not tried again after a permanent refusal', async () => {
  refusal = { status: 429, headers: { 'retry-after': '7200' }, name: 'rate_limit_exceeded' };
  await queue('later@example.com');
  await eventually('it was tried', async () => (await rowOf('later@example.com'))['last_error'] !== null);
  const later = await db.sql`
      select next_attempt_at > now() + interval '110 minutes' as waits
      from emails
      where to_address = 'later@example.com'`;
  expect([await rowOf('later@example.com'), later[0]]).toMatchObject([
    { status: 'queued', attempts: 1 },
    { waits: true },
  ]);
  refusal = { status: 422, headers: {}, name: 'validation_error' };
  await queue('never@example.com');
  await is('never@example.com', 'bounced');
  // the domain is not verified: an operator can mend that
  refusal = { status: 403, headers: {}, name: 'validation_error' };
  await queue('mended@example.com');
  await eventually('it was tried', async () => (await rowOf('mended@example.com'))['last_error'] !== null);
  expect((await rowOf('mended@example.com'))['status']).toBe('queued');
});
