import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Answer } from '../../support/worlds/app.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';

let world: Notified;
type Member = Awaited<ReturnType<Notified['member']>>;
let ann: Member;
let bob: Member;
beforeAll(async () => {
  world = await notified();
  ann = await world.member('member');
  bob = await world.member('editor');
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await emptyTables(world.sql, 'notifications', 'notification_windows', 'emails', 'pushes', 'idempotency_keys');
  await world.sql`update user_profiles set notification_preferences = '{}'`;
});

const told = (count: number) =>
  world.hear(Array.from({ length: count }, (_, n) => world.published(ann.userId, { channelName: `Channel ${n}` })));
const list = async (query = '', { client } = ann) => (await client.get(`/notifications/list${query}`)).body;
const total = async ({ client } = ann) => (await client.get('/notifications')).body;
const fieldsOf = ({ body }: Answer) => (body.errors as { field: string }[] | undefined)?.map(({ field }) => field);

describe('GET /notifications', () => {
  test('counts what is unread in the organization that the caller acts for [NO2, S174]', async () => {
    await told(3);
    expect(await total()).toEqual({ total: 3 });
    expect(await total(bob)).toEqual({ total: 0 });
    const eve = await world.signUp();
    await world.sql`
      insert into memberships (org_id, user_id, role_key, created_at)
      values (${world.orgId}, ${eve.userId}, 'member', now())`;
    await world.hear([world.published(eve.userId)]);
    expect(await total(eve)).toEqual({ total: 0 }); // in her own organization
    const there = await eve.client.get('/notifications', { showorg: world.orgId });
    expect(there.body).toEqual({ total: 1 });
    await world.sql`delete from memberships where org_id = ${world.orgId} and user_id = ${eve.userId}`;
  });
});

describe('GET /notifications/list', () => {
  test('answers pages, newest first [NO3, S175]', async () => {
    await told(3);
    const first = await list('?limit=2');
    expect(first).toEqual({
      lastReadNotifications: expect.any(String),
      notifications: [expect.anything(), expect.anything()],
      total: 3,
      page: 0,
      limit: 2,
      hasMore: true,
    });
    const second = await list('?limit=2&page=1');
    expect([second.notifications.length, second.hasMore, second.page]).toEqual([1, false, 1]);
    const titles = [...first.notifications, ...second.notifications].map(({ title }) => title);
    expect(titles).toEqual([2, 1, 0].map((n) => `Published on Channel ${n}`));
    expect(second.notifications[0]).toEqual({
      id: expect.any(String),
      title: 'Published on Channel 0',
      content: 'Hello world\nhttps://example.com/1',
      link: expect.stringMatching(/^\/posts\//),
      category: 'post_published',
      data: { postId: expect.any(String), integrationId: expect.any(String) },
      readAt: null,
      createdAt: expect.any(String),
    });
    expect(await list('?page=9')).toMatchObject({ notifications: [], total: 3, hasMore: false });
  });

  test('takes a category, and what is unread [S175]', async () => {
    await told(2);
    const [{ id }] = (await list()).notifications;
    await ann.client.send('PATCH', `/notifications/${id}/read`);
    expect((await list('?unread=true')).total).toBe(1);
    expect((await list('?unread=false')).total).toBe(2);
    expect((await list('?category=post_failed')).total).toBe(0);
    expect((await list('?category=post_published&unread=true')).total).toBe(1);
  });

  test.each([
    'page=-1',
    'page=x',
    'page=1e9',
    'limit=0',
    'limit=101',
    'limit=NaN',
    'unread=maybe',
    `category=${'c'.repeat(65)}`,
  ])('refuses ?%s by name', async (query) => {
    const answer = await ann.client.get(`/notifications/list?${query}`);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [query.split('=')[0]]]);
  });
});

describe('GET /public/v1/notifications', () => {
  test('answers those of the owner of the key, in pages of 100 from 0; behind the last one none [T13]', async () => {
    const { body: made } = await world.owner.client.post('/user/api-keys', { name: 'test' });
    const key = world.app.client();
    key.headers = { authorization: made.plaintext };
    for (let n = 0; n < 101; n += 1) await world.hear([world.published(world.owner.userId)]);
    const page = async (query: string) => (await key.get(`/public/v1/notifications${query}`)).body;
    const [first, second, third] = [await page(''), await page('?page=1'), await page('?page=2')];
    expect(first).toEqual({
      notifications: expect.any(Array),
      total: 101,
      page: 0,
      limit: 100,
      hasMore: true,
    });
    expect([first.notifications.length, second.notifications.length, second.hasMore]).toEqual([100, 1, false]);
    expect(second.notifications[0]).toEqual({
      id: expect.any(String),
      content: expect.any(String),
      link: expect.stringMatching(/^\/posts\//),
      createdAt: expect.any(String),
    });
    expect(third).toEqual({ notifications: [], total: 101, page: 2, limit: 100, hasMore: false });
    expect((await key.get('/public/v1/notifications?page=-1')).status).toBe(400);
  });
});

describe('changes', () => {
  test('PATCH /notifications/:id/read marks one, and keeps when it was first [NO4, S176]', async () => {
    await told(2);
    const [{ id }] = (await list()).notifications;
    const first = await ann.client.send('PATCH', `/notifications/${id}/read`);
    expect(first).toMatchObject({ status: 200, body: { id, readAt: expect.any(String) } });
    expect((await ann.client.send('PATCH', `/notifications/${id}/read`)).body).toEqual(first.body);
    expect(await total()).toEqual({ total: 1 });
  });

  test('POST /notifications/read-all marks all of the caller [NO5, S176]', async () => {
    await told(2);
    await world.hear([world.published(bob.userId)]);
    const { status, body } = await ann.client.post('/notifications/read-all');
    expect([status, body]).toEqual([200, { updated: 2, lastReadNotifications: expect.any(String) }]);
    expect((await list()).lastReadNotifications).toBe(body.lastReadNotifications);
    expect([await total(), await total(bob)]).toEqual([{ total: 0 }, { total: 1 }]);
    expect((await ann.client.post('/notifications/read-all')).body.updated).toBe(0);
  });

  test('DELETE /notifications/:id deletes one [NO6, S176]', async () => {
    await told(2);
    const [{ id }] = (await list()).notifications;
    expect(await ann.client.delete(`/notifications/${id}`)).toMatchObject({ status: 200, body: { id } });
    expect((await list()).total).toBe(1);
    expect((await ann.client.delete(`/notifications/${id}`)).status).toBe(404);
  });

  test('answer 404 for what belongs to another member, and change nothing [S176]', async () => {
    await told(1);
    const [{ id }] = (await list()).notifications;
    for (const one of [id, newId(), 'x'])
      expect([
        (await bob.client.send('PATCH', `/notifications/${one}/read`)).status,
        (await bob.client.delete(`/notifications/${one}`)).status,
      ]).toEqual([404, 404]);
    expect(await total()).toEqual({ total: 1 });
  });
});

describe('POST /notifications/broadcast', () => {
  const BODY = { title: 'Hi', content: 'All of you', target: { type: 'all' }, channels: ['email', 'in-app'] };
  const send = (body: object, headers = {}) => world.owner.client.post('/notifications/broadcast', body, headers);
  const users = (userIds: readonly string[]) => ({ ...BODY, target: { type: 'users', userIds } });

  test('reaches all members by the channels that it names [NO9, NO11, NO18, S179]', async () => {
    const { status, body } = await send({ ...BODY, link: '/calendar' });
    expect([status, body]).toEqual([200, { recipients: 3, channels: ['email', 'in-app'] }]);
    for (const person of [world.owner, ann, bob]) {
      expect(await world.rowsOf(person)).toEqual([
        { category: 'announcements', title: 'Hi', content: 'All of you', link: '/calendar' },
      ]);
      expect(await world.mailsTo(person)).toHaveLength(1);
    }
    await send({ ...BODY, channels: ['in-app'] });
    expect([(await world.rowsOf(ann)).length, (await world.mailsTo(ann)).length]).toEqual([2, 1]);
  });

  test('has its link for readers who may open that page [NO18, S179]', async () => {
    const links = async () => (await Promise.all([world.owner, bob].map(world.rowsOf))).map((rows) => rows[0]!.link);
    for (const [link, mayBob] of [
      ['/billing/invoices', false],
      ['/api-keys', false],
      ['/x/../billing', false],
      ['/brand-kits?x=1', true],
      ['/calendar', true],
      ['/', true],
    ] as const) {
      await emptyTables(world.sql, 'notifications');
      await send({ ...BODY, link, channels: ['in-app'] });
      expect(await links()).toEqual([link, mayBob ? link : null]);
    }
  });

  test('reaches those of roles, and of a list of users [NO9, S179]', async () => {
    expect((await send({ ...BODY, target: { type: 'roles', roles: ['editor', 'viewer', 'x'] } })).body.recipients).toBe(
      1,
    );
    expect((await send(users([ann.userId]))).body.recipients).toBe(1);
    expect(
      [await world.rowsOf(world.owner), await world.rowsOf(ann), await world.rowsOf(bob)].map(({ length }) => length),
    ).toEqual([0, 1, 1]);
  });

  test('drops ids of others, and does not count them [S179, S269]', async () => {
    const eve = await world.signUp();
    const ids = [ann.userId, eve.userId, 'nonsense', ...Array.from({ length: 400 }, newId)];
    expect((await send(users(ids))).body).toEqual({ recipients: 1, channels: ['email', 'in-app'] });
    expect(await world.rowsOf(eve)).toEqual([]);
  });

  test('obeys masters, and no choice for announcements [NO24, NO25]', async () => {
    await world.wish(ann, { categories: { announcements: { email: false, inApp: false } } });
    await world.wish(bob, { master: { email: false, inApp: false } });
    await send(BODY);
    expect([(await world.rowsOf(ann)).length, (await world.mailsTo(ann)).length]).toEqual([1, 1]);
    expect([(await world.rowsOf(bob)).length, (await world.mailsTo(bob)).length]).toEqual([0, 0]);
  });

  test('asks for notifications:manage [NO8]', async () => {
    expect((await bob.client.post('/notifications/broadcast', BODY)).status).toBe(403);
  });

  test('takes 1,000 ids and refuses 1,001 [NO10, S179]', async () => {
    const ids = Array.from({ length: 1_001 }, newId);
    expect((await send(users(ids.slice(1)))).body.recipients).toBe(0);
    const refused = await send(users(ids));
    expect([refused.status, fieldsOf(refused)]).toEqual([400, ['target.userIds']]);
  });

  test('is one commit for a thousand members, and sends nothing when it is repeated by its key', async () => {
    const many = 1_000;
    await world.sql`
      with people as (
        insert into users (id, email, provider_name, provider_id, activated)
        select id, id || '@example.com', 'local', id, true
        from (select gen_random_uuid() as id from generate_series(1, ${many})) ids
        returning id
      ), profiles as (
        insert into user_profiles (user_id)
        select id
        from people
      )
      insert into memberships (org_id, user_id, role_key)
      select ${world.orgId}, id, 'viewer'
      from people`;
    const key = { 'idempotency-key': newId() };
    const toViewers = { ...BODY, target: { type: 'roles', roles: ['viewer'] } };
    world.db.statements.length = 0;
    const first = await send(toViewers, key);
    expect(world.db.statements.filter((text) => /^commit/i.test(text.trim()))).toHaveLength(1);
    expect(first.body.recipients).toBe(many);
    expect(await send(toViewers, key)).toMatchObject({ status: 200, body: first.body });
    const count = async (table: string) =>
      (await world.sql`select count(*)::int as n from ${world.sql(table)}`)[0]!['n'];
    expect([await count('notifications'), await count('emails')]).toEqual([many, many]);
    expect((await send({ ...toViewers, title: 'Other' }, key)).status).toBe(422);
    await world.sql`delete from memberships where role_key = 'viewer'`;
  });

  test.each([
    [{ title: undefined }, 'title'],
    [{ title: 7 }, 'title'],
    [{ title: ' ' }, 'title'],
    [{ title: 'x'.repeat(121) }, 'title'],
    [{ content: 'x'.repeat(2_001) }, 'content'],
    [{ link: 'https://evil.example/' }, 'link'],
    [{ link: '//evil.example/' }, 'link'],
    [{ link: '/\\evil.example' }, 'link'],
    [{ target: {} }, 'target.type'],
    [{ target: { type: 'roles' } }, 'target.roles'],
    [{ target: { type: 'users', userIds: [] } }, 'target.userIds'],
    [{ target: { type: 'users', userIds: [7] } }, 'target.userIds.0'],
    [{ target: { type: 'all', roles: ['owner'] } }, 'target.roles'],
    [{ channels: [] }, 'channels'],
    [{ channels: ['sms'] }, 'channels.0'],
    [{ when: 'now' }, 'when'],
  ])('refuses %j by name, and tells nobody', async (change, field) => {
    const answer = await send({ ...BODY, ...change });
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
    expect(await world.rowsOf(ann)).toEqual([]);
  });
});
