import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
/** With mail; and without, where who registers is active at once. */
let app: TestApp;
let quiet: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: { ...WITH_MAIL, FRONTEND_URL: 'https://app.example.com' } });
  quiet = await testApp({ sql: db.sql });
  await quiet.signUp(); // the super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await quiet[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
/** Somebody who is active, talking to the app with mail. */
async function somebody(): Promise<SignedUp> {
  const made = await quiet.signUp();
  const client = app.client();
  for (const [name, value] of made.client.cookies) client.cookies.set(name, value);
  return { ...made, client };
}
const fieldsOf = ({ body }: { body: { errors?: { field: string }[] } }) => body.errors?.map(({ field }) => field);
async function join(orgId: string, { userId }: { userId: string }, role = 'member') {
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${orgId}, ${userId}, ${role})`;
}
const file = async (orgId: string, kind = 'image') => {
  const id = newId();
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
    values (${id}, ${orgId}, 'a.png', 'a.png', ${`${orgId}/${'A'.repeat(22)}${id.slice(-10)}.png`}, ${kind},
      'image/png', 1)`;
  return id;
};

describe('profile', () => {
  test('is read and changed in part, by POST and by PUT [S43, US3, US4]', async () => {
    const { client, userId } = await somebody();
    expect((await client.get('/user/personal')).body).toEqual({
      name: '',
      lastName: '',
      bio: '',
      avatarUrl: null,
      pictureId: null,
      timezone: 'UTC',
      emailUndeliverable: false,
    });
    const first = await client.post('/user/personal', {
      name: ' Zoe\u0308 ',
      bio: '  as sent\n',
      timezone: 'Europe/Paris',
    });
    expect([first.status, first.body]).toEqual([
      200,
      {
        name: 'Zoë',
        lastName: '',
        bio: '  as sent\n',
        avatarUrl: null,
        pictureId: null,
        timezone: 'Europe/Paris',
        emailUndeliverable: false,
      },
    ]);
    const second = await client.put('/user/personal', { lastName: 'Smith', bio: '' });
    expect(second.body).toEqual({ ...first.body, lastName: 'Smith', bio: '' });
    expect((await client.put('/user/personal', {})).body).toEqual(second.body);
    expect((await client.get('/user/self')).body).toMatchObject({
      name: 'Zoë',
      lastName: 'Smith',
      timezone: 'Europe/Paris',
    });
    expect(await db.sql`select count(*)::int as n from user_profiles where user_id = ${userId}`).toEqual([{ n: 1 }]);
  });
  test('has an image of an org of the user as picture; null removes it [S43, S9]', async () => {
    const [{ client, orgId, userId }, eve] = [await somebody(), await somebody()];
    const own = await file(orgId);
    const { body } = await client.post('/user/personal', { pictureId: own });
    expect(body).toMatchObject({
      pictureId: own,
      avatarUrl: expect.stringMatching(new RegExp(`/uploads/${orgId}/.+\\.png$`)),
    });
    expect((await client.get('/user/self')).body.avatarUrl).toBe(body.avatarUrl);
    const removed = await file(orgId);
    await db.sql`update files set deleted_at = now() where id = ${removed}`;
    for (const pictureId of [await file(eve.orgId), removed, await file(orgId, 'video'), newId(), 'x', '']) {
      const refused = await client.post('/user/personal', { pictureId, name: 'Changed' });
      expect([refused.status, fieldsOf(refused)]).toEqual([400, ['pictureId']]);
    }
    expect((await client.get('/user/personal')).body).toEqual(body);
    await join(eve.orgId, { userId });
    expect((await client.post('/user/personal', { pictureId: await file(eve.orgId) })).status).toBe(200);
    await db.sql`update memberships set disabled = true where org_id = ${eve.orgId} and user_id = ${userId}`;
    expect((await client.post('/user/personal', { pictureId: await file(eve.orgId) })).status).toBe(400);
    expect((await client.post('/user/personal', { pictureId: null })).body).toMatchObject({
      pictureId: null,
      avatarUrl: null,
    });
  });
  test('shows no picture whose file was deleted, and can be sent as it was read [S43, S42, S46]', async () => {
    const { client, orgId } = await somebody();
    const picture = await file(orgId);
    await client.put('/user/personal', { pictureId: picture });
    expect((await client.delete(`/files/${picture}`)).status).toBe(200);
    const { name, lastName, bio, timezone, ...shown } = (await client.get('/user/personal')).body;
    expect(shown).toMatchObject({ pictureId: null, avatarUrl: null });
    expect((await client.get('/user/self')).body.avatarUrl).toBeNull();
    expect((await client.get('/members')).body).toMatchObject([{ avatarUrl: null }]);
    const change = { name, lastName, bio, timezone, pictureId: shown.pictureId };
    expect((await client.put('/user/personal', change)).status).toBe(200);
  });
  test('keeps its picture when it is sent again, also that of an org which the user has left [S43]', async () => {
    const [{ client, userId }, eve] = [await somebody(), await somebody()];
    await join(eve.orgId, { userId });
    const pictureId = await file(eve.orgId);
    const { body } = await client.put('/user/personal', { pictureId });
    await db.sql`delete from memberships where org_id = ${eve.orgId} and user_id = ${userId}`;
    expect((await client.put('/user/personal', { pictureId })).body).toEqual(body);
  });
  test.each([
    ['timezone', 'Mars/Olympus'],
    ['timezone', '+02:00'],
    ['timezone', ''],
    ['name', 'x'.repeat(101)],
    ['name', null],
    ['lastName', 1],
    ['bio', 'x'.repeat(2_001)],
    ['pictureId', 1],
    ['avatarUrl', 'https://example.com/a.png'],
    ['email', 'a@example.com'],
    ['isSuperAdmin', true],
    ['activated', true],
    ['userId', 'x'],
  ])('rejects %s = %.20j by name and changes nothing [S43, US4, X24]', async (field, value) => {
    const { client } = await somebody();
    const before = (await client.get('/user/personal')).body;
    for (const method of ['POST', 'PUT']) {
      const answer = await client.send(method, '/user/personal', { name: 'Changed', [field]: value });
      expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
    }
    expect((await client.get('/user/personal')).body).toEqual(before);
  });
});

describe('notification preferences', () => {
  const all = (email: boolean, push: boolean, inApp: boolean) => ({ email, push, inApp });
  const DEFAULTS = {
    post_published: all(true, false, true),
    post_failed: all(true, true, true),
    channel_issues: all(true, true, true),
    replies: all(true, false, true),
    ai_budget: all(true, false, true),
    media_jobs: all(false, false, true),
    announcements: all(true, false, true),
    streak_reminders: all(true, false, true),
    agent_briefs: all(false, false, false),
    analytics_alerts: all(true, false, true),
  };
  const URL = '/notifications/preferences';

  test('have the defaults of the interface, `Instant` among them [S178, US3, NO26]', async () => {
    const { client } = await somebody();
    const { status, body } = await client.get(URL);
    expect([status, body]).toEqual([
      200,
      { master: all(true, true, true), categories: DEFAULTS, digest: 'Instant', quietHours: null },
    ]);
  });
  test('are merged field by field; an unknown category is stored and follows the master [S178]', async () => {
    const { client } = await somebody();
    const first = await client.put(URL, { categories: { replies: { push: true } }, digest: 'Weekly' });
    expect(first.body).toEqual({
      master: all(true, true, true),
      categories: { ...DEFAULTS, replies: all(true, true, true) },
      digest: 'Weekly',
      quietHours: null,
    });
    const second = await client.put(URL, {
      master: { push: false },
      categories: { replies: { email: false }, news: { inApp: false } },
    });
    expect(second.body).toEqual({
      master: all(true, false, true),
      categories: { ...DEFAULTS, replies: all(false, true, true), news: all(true, false, false) },
      digest: 'Weekly',
      quietHours: null,
    });
    expect((await client.put(URL, { master: { email: false } })).body.categories.news).toEqual(
      all(false, false, false),
    );
    expect((await client.put(URL, {})).body).toEqual((await client.get(URL)).body);
  });
  test.each(['teamNews', 'weekly-report', 'Röportaj 2', 'toString'])(
    'an unknown category may be named %j [S178, NO23]',
    async (name) => {
      const { client } = await somebody();
      const { status, body } = await client.put(URL, {
        master: { push: false },
        categories: { [name]: { email: false } },
      });
      expect([status, body.categories]).toEqual([200, { ...DEFAULTS, [name]: all(false, false, true) }]);
      expect((await client.get(URL)).body).toEqual(body);
    },
  );
  test('keep all concurrent changes', async () => {
    const { client } = await somebody();
    await Promise.all(Object.keys(DEFAULTS).map((name) => client.put(URL, { categories: { [name]: { push: true } } })));
    const { categories } = (await client.get(URL)).body;
    expect(Object.values(categories).every((one) => (one as { push: boolean }).push)).toBe(true);
  });
  test.each([
    [{ digest: 'Hourly' }, 'digest'],
    [{ master: { sms: true } }, 'master.sms'],
    [{ master: { email: 'yes' } }, 'master.email'],
    [{ master: null }, 'master'],
    [{ categories: { replies: { email: 1 } } }, 'categories.replies.email'],
    [{ categories: { replies: true } }, 'categories.replies'],
    [{ categories: { ['k'.repeat(65)]: { email: true } } }, `categories.${'k'.repeat(65)}`],
    [
      { categories: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`c${n}`, { email: true }])) },
      'categories',
    ],
    [{ frequency: 'Daily' }, 'frequency'],
  ])('reject %.40j by name', async (change, field) => {
    const { client } = await somebody();
    const answer = await client.put(URL, change);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
  });
});
