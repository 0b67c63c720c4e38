import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { type Answer, type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';
import { settles } from '../../../support/wire/settles.ts';
import { codeTo } from '../../../support/worlds/mail/links.ts';

// What opens an account without its password is not made by a session that ends at this moment: it would outlive the
// reset that ends all of it.

let db: TestDatabase;
let app: TestApp;
/** The same without mail, where who registers is active at once. */
let quiet: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: WITH_MAIL });
  quiet = await testApp({ sql: db.sql });
  await quiet.signUp(); // the first: a super-admin
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await quiet?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const CALLBACK = 'https://client.example.com/callback';
async function client(): Promise<string> {
  const id = newId();
  await db.sql`
    insert into oauth_clients (id, client_id, name, redirect_uris, scope, secret_hash)
    values (${id}, ${id}, 'App', ${[CALLBACK]}, '{mcp:read}', '\\x00')`;
  return id;
}
async function channelOf({ orgId }: SignedUp): Promise<string> {
  const id = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${orgId}, 'sandbox', 'v1', ${id}, 'Net', 'v2:')`;
  return id;
}
const left = async ({ userId }: SignedUp) =>
  (
    await db.sql`
      select
        (select count(*)::int from api_keys where user_id = ${userId} and revoked_at is null) as keys,
        (select count(*)::int from oauth_authorizations where user_id = ${userId}) as apps,
        (select count(*)::int from oauth_devices where user_id = ${userId} and decision = 'approved') as devices,
        (select count(*)::int from calendar_feeds where user_id = ${userId}) as feeds`
  )[0];

/** Prepares what is asked of a person's session, and answers the request. */
const MADE: Record<string, (person: SignedUp) => Promise<() => Promise<Answer>>> = {
  'an API key': async (person) => () => person.client.post('/user/api-keys', { name: 'late' }),
  'the next one of an API key': async (person) => {
    const { body } = await person.client.post('/user/api-keys', { name: 'old' });
    const [row] = await db.sql<{ id: string }[]>`select id from api_keys where prefix = ${body.prefix}`;
    return () => person.client.post(`/user/api-keys/${row!.id}/rotate`, {});
  },
  'the approval of an app': async (person) => {
    const clientId = await client();
    const asked = { client_id: clientId, redirect_uri: CALLBACK, response_type: 'code', scope: 'mcp:read' };
    return () => person.client.post('/oauth/authorize', { ...asked, action: 'approve' });
  },
  'the approval of a device': async (person) => {
    const { user_code: code } = (await quiet.client().post('/device/code', {})).body;
    return () => person.client.post('/device/approve', { user_code: code });
  },
  'a calendar feed': async (person) => {
    const id = await channelOf(person);
    return () => person.client.post(`/integrations/${id}/calendar-token`, {});
  },
};

test.each(Object.entries(MADE))(
  '%s is refused while a reset of the password ends the session [S35]',
  async (_, prepare) => {
    const bob = await quiet.signUp();
    const ask = await prepare(bob);
    await app.client().post('/auth/forgot', { email: bob.email });
    const token = await codeTo(app.context, bob.email, 'password-reset');
    const password = 'a new password';
    const { reset, asked } = await db.sql.begin(async (tx) => {
      await tx`lock table audit_log in exclusive mode`; // the reset has ended sessions and keys, and is not committed
      const resetting = app.client().post('/auth/forgot-return', { token, password, repeatPassword: password });
      await settles(async () => expect(await waitingOnLock(db.sql)).toBe(1));
      const asking = ask();
      await settles(async () => expect(await waitingOnLock(db.sql)).toBe(2));
      return { reset: resetting, asked: asking };
    });
    expect((await reset).body).toEqual({ reset: true });
    const { status, text } = await asked;
    expect([status, text]).toEqual([401, expect.stringContaining('Log in first')]);
    expect(await left(bob)).toEqual({ keys: 0, apps: 0, devices: 0, feeds: 0 });
  },
);
