import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Answer, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';
import { approval, register } from '../../support/worlds/oauth.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let bob: SignedUp;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  app = await testApp({ sql: db.sql });
  await app.signUp();
  bob = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** Sessions that wait for a lock of the test, or for one that waits for it. */
async function waiting(): Promise<number> {
  return waitingOnLock(db.sql);
}

test('the sweep of unused clients takes no approval along that was answered with a code [S94]', async () => {
  const { client_id: clientId } = await register(app, { token_endpoint_auth_method: 'client_secret_post' });
  await db.sql`update oauth_clients set created_at = now() - interval '31 days' where client_id = ${clientId}`;
  // A deletion stops when it has its snapshot and has looked at nothing yet.
  await db.sql.unsafe(`
    create function wait_for_test() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
    create trigger wait_for_test before delete on oauth_clients for each statement execute function wait_for_test()`);
  let sweeping: Promise<unknown> | undefined;
  let approving: Promise<Answer> | undefined;
  let answered = false;
  await db.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(1)`;
    sweeping = app.context.oauth.sweep(500);
    await settles(async () => expect(await waiting()).toBe(1));
    approving = bob.client.post('/oauth/authorize', approval(clientId)).finally(() => (answered = true));
    await settles(async () => expect(answered || (await waiting()) === 2).toBe(true));
  });
  await sweeping;
  const { status, body } = await approving!;
  const left = await db.sql`
    select from oauth_authorizations a join oauth_clients c on c.id = a.app_id where c.client_id = ${clientId}`;
  // it waited, as the client was judged and locked before
  expect([status, body.error, left.length]).toEqual([400, 'invalid_client', 0]);
});
