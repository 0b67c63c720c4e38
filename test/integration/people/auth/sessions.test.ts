import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';
import { eventually } from '../../../support/wire/eventually.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  await app.signUp(); // the super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const tokenOf = (client: Client) => client.cookies.get('refresh')!;
const refresh = (refreshToken: string, agent = 'Owner/1') =>
  app.client().post('/auth/refresh', { refreshToken }, { 'user-agent': agent });
const works = async (accessToken: string) =>
  (await app.client().get('/user/self', { auth: accessToken })).status === 200;
const sessionsOf = ({ userId }: SignedUp) =>
  db.sql`select id, revoked_at is null as alive from sessions where user_id = ${userId} order by id`;
const notesOf = async ({ userId }: SignedUp) =>
  (
    await db.sql`
    select action
    from audit_log
    where user_id = ${userId} or resource_id in (select id::text from sessions where user_id = ${userId})
    order by id`
  )
    .map(({ action }) => action as string)
    .filter((action) => action.startsWith('session.'));

describe('refresh', () => {
  test('makes one rotation and one pair from one token used twenty times at once in one browser [S39]', async () => {
    const bob = await app.signUp();
    const token = (await refresh(tokenOf(bob.client))).body.refreshToken;
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(token)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(new Set(answers.map(({ body }) => `${body.accessToken} ${body.refreshToken}`)).size).toBe(1);
    const { accessToken, refreshToken } = answers[0]!.body;
    expect([await works(accessToken), (await refresh(refreshToken)).status]).toEqual([true, 200]);
    expect(await sessionsOf(bob)).toEqual([{ id: expect.any(String), alive: true }]);
  });
  test('succeeds once and ends the session when twenty clients use one token at once [S39, SE3, X16]', async () => {
    const bob = await app.signUp();
    const token = tokenOf(bob.client);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => refresh(token, `Place/${n}`)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 401)]);
    const held = answers.find(({ status }) => status === 200)!.body;
    expect([await works(held.accessToken), (await refresh(held.refreshToken)).status]).toEqual([false, 401]);
    expect((await sessionsOf(bob)).map(({ alive }) => alive)).toEqual([false]);
    expect(await notesOf(bob)).toEqual(['session.created', 'session.stolen']);
  });
  test('ends the session of a thief when the owner uses the token after the thief [S39, SE3, X16]', async () => {
    const bob = await app.signUp();
    const token = tokenOf(bob.client);
    const thief = await refresh(token, 'Thief/1');
    expect([thief.status, await works(thief.body.accessToken)]).toEqual([200, true]);
    const owner = await bob.client.post('/auth/refresh');
    expect([owner.status, owner.body.code]).toEqual([401, 'session_revoked']);
    expect([await works(thief.body.accessToken), (await refresh(thief.body.refreshToken, 'Thief/1')).status]).toEqual([
      false,
      401,
    ]);
  });
  test('ends only the session of the stolen token [S39]', async () => {
    const bob = await app.signUp();
    const phone = app.client();
    await phone.post('/auth/login', { provider: 'local', email: bob.email, password: bob.password });
    const token = tokenOf(bob.client);
    await refresh(token, 'Thief/1');
    await refresh(token, 'Other/1');
    expect([(await bob.client.get('/user/self')).status, (await phone.get('/user/self')).status]).toEqual([401, 200]);
  });
  test('extends a session by 30 days and does not revive an ended one [S39]', async () => {
    const bob = await app.signUp();
    const days = async () =>
      (
        await db.sql`
          select round(extract(epoch from expires_at - now()) / 86400)::int as days
          from sessions
          where user_id = ${bob.userId}`
      )[0]!['days'];
    await db.sql`update sessions set expires_at = now() + interval '1 day' where user_id = ${bob.userId}`;
    const { body } = await refresh(tokenOf(bob.client));
    expect(await days()).toBe(30);
    await db.sql`update sessions set expires_at = now() - interval '1 second' where user_id = ${bob.userId}`;
    expect([(await refresh(body.refreshToken)).status, await works(body.accessToken)]).toEqual([401, false]);
    expect(await days()).toBe(0);
    expect(await notesOf(bob)).toEqual(['session.created']); // it ended by its age, not by a theft
  });
  test('extends no session beyond the 180th day after login, nor does use', async () => {
    const bob = await app.signUp();
    const days = async () =>
      (
        await db.sql`
          select round(extract(epoch from expires_at - now()) / 86400)::int as days
          from sessions
          where user_id = ${bob.userId}`
      )[0]!['days'];
    await db.sql`update sessions set created_at = now() - interval '170 days' where user_id = ${bob.userId}`;
    const { body } = await refresh(tokenOf(bob.client));
    expect([await days(), await works(body.accessToken)]).toEqual([10, true]);
    await db.sql`
      update sessions
      set created_at = now() - interval '175 days', last_used_at = now() - interval '1 day'
      where user_id = ${bob.userId}`;
    {
      await using other = await testApp({ sql: db.sql }); // its notes of use are written when it ends, if not before
      expect((await other.client().get('/user/self', { auth: body.accessToken })).status).toBe(200);
    }
    expect(await days()).toBe(5);
    await db.sql`
      update sessions
      set created_at = created_at - interval '5 days', expires_at = expires_at - interval '5 days'
      where user_id = ${bob.userId}`;
    expect([(await refresh(body.refreshToken)).status, await works(body.accessToken)]).toEqual([401, false]);
  });
  test('leaves no live session when it races with a logout', async () => {
    for (let round = 0; round < 10; round += 1) {
      const bob = await app.signUp();
      const [answer] = await Promise.all([refresh(tokenOf(bob.client)), bob.client.post('/user/logout')]);
      if (answer.status === 200)
        expect([await works(answer.body.accessToken), (await refresh(answer.body.refreshToken)).status]).toEqual([
          false,
          401,
        ]);
      expect((await sessionsOf(bob)).map(({ alive }) => alive)).toEqual([false]);
    }
  });
});

describe('ended sessions', () => {
  test('are recorded with the actor and their number [S40, S41]', async () => {
    const bob = await app.signUp();
    const phone = app.client();
    await phone.post('/auth/login', { provider: 'local', email: bob.email, password: bob.password });
    const { body } = await bob.client.get('/user/sessions');
    const other = body.find(({ current }: { current: boolean }) => !current).id;
    await bob.client.post(`/user/sessions/${other}/revoke`);
    await bob.client.post('/user/logout');
    expect(await notesOf(bob)).toEqual(['session.created', 'session.created', 'session.revoked', 'session.logged_out']);
    expect(
      await db.sql`select detail from audit_log where user_id = ${bob.userId} and action = 'session.logged_out'`,
    ).toEqual([{ detail: { sessions: 1 } }]);
  });
  test('do not include one named by another user: it is not found and stays [S9, X11]', async () => {
    const [bob, eve] = [await app.signUp(), await app.signUp()];
    const { id } = (await sessionsOf(bob))[0]!;
    expect((await eve.client.post(`/user/sessions/${id}/revoke`)).status).toBe(404);
    expect((await sessionsOf(bob))[0]).toEqual({ id, alive: true });
    expect(await notesOf(eve)).toEqual(['session.created']);
  });
  test('are swept after 30 days, and no others', async () => {
    const people = [await app.signUp(), await app.signUp(), await app.signUp(), await app.signUp()] as const;
    const [alive, revoked, expired, recent] = people;
    await db.sql`update sessions set revoked_at = now() - interval '31 days' where user_id = ${revoked.userId}`;
    await db.sql`update sessions set expires_at = now() - interval '31 days' where user_id = ${expired.userId}`;
    await db.sql`update sessions set revoked_at = now() - interval '29 days' where user_id = ${recent.userId}`;
    expect(await app.context.auth.sessions.dropEnded(100)).toBe(2);
    expect(await Promise.all(people.map(async (one) => (await sessionsOf(one)).length))).toEqual([1, 0, 0, 1]);
    expect((await alive.client.get('/user/self')).status).toBe(200);
    expect((await refresh(tokenOf(revoked.client))).status).toBe(401);
  });
});

test('the use of a session is noted in the order of locks in which a key is made by it', async () => {
  const bob = await app.signUp();
  const other = await testApp({ sql: db.sql });
  const apart = openDatabase({ url: db.url, connections: 2 });
  await other.client().get('/user/self', { auth: bob.client.cookies.get('auth')! });
  const { noted, made } = await apart.begin(async (tx) => {
    await tx`select from memberships where user_id = ${bob.userId} for update`;
    const noting = other[Symbol.asyncDispose]();
    await eventually('the note waits', async () => (await waitingOnLock(apart, 'with\\s+used as')) > 0);
    const making = bob.client.post('/user/api-keys', { name: 'made meanwhile' });
    await eventually('the key waits for the session', async () => (await waitingOnLock(apart, 'for share')) > 0);
    return { noted: noting, made: making };
  });
  await noted;
  expect((await made).status).toBe(201);
  await apart.end();
});
