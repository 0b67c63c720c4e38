import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { organizationActor } from '../../../../actors/organization/contract.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { ProviderError } from '../../../../src/platform/kernel/errors.ts';
import type { Client } from '../../../support/worlds/app.ts';
import { settles } from '../../../support/wire/settles.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { settled } from '../../../support/worlds/publishing/world.ts';

const routes = await openPostRoutes();
const { db, world, network, ann, eve, key, channel, foreign, schedule, create, made, read, rows, published } = routes;
const { sql } = db;
afterAll(routes.close);
beforeEach(async () => {
  network.behave = undefined;
  await sql`delete from posts`;
  // of a post that a test has left while it was published: a date kept from then would be taken for an earlier one
  await sql`
    update channels
    set slot_incarnation = null, slot_post_id = null, slot_until = null, next_due_at = null, reminder_due_at = null,
      due_version = due_version + 1`;
});

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const patch = (client: Client, path: string, body: object) => client.send('PATCH', path, body);
const sweep = () => world.reconciler.sweep();
const actorOf = (orgId: string) => world.actors(organizationActor, orgId);
const daily = (more: object = {}) => schedule({ inter: 1, ...more });
const now = (more: object = {}) => ({ ...daily(more), type: 'now' });
const dates = async (id: string): Promise<string[]> => (await ann.client.get(`/posts/${id}/occurrences`)).body;
/** The posts of the series, oldest first; each is shown as the API shows it. */
// oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
async function all(): Promise<any[]> {
  const ids = await sql<{ id: string }[]>`
    select id from posts where root_post_id is null and deleted_at is null order by seq`;
  return Promise.all(ids.map(({ id }) => read(id)));
}
const timeline = async (id: string) =>
  (await ann.client.get(`/posts/${id}/timeline`)).body.items as { kind: string; message: string; data: object }[];
/** A post of a series that is out, and its successor. */
async function repeated(body: object = now()): Promise<[string, string]> {
  const id = await made(body);
  await published(id);
  await sweep();
  const [, next] = await all();
  return [id, next.id];
}

describe('a post that recurs', () => {
  test('says so, and names its next ten dates at the same hour of the zone of its author [S120]', async () => {
    await ann.client.post('/user/personal', { timezone: 'Europe/Berlin' });
    const id = await made(schedule({ inter: 30, date: '2035-01-31T09:00:00Z' }));
    const shown = await read(id);
    expect(shown).toMatchObject({
      intervalInDays: 30,
      recurrence: { rrule: 'FREQ=DAILY;INTERVAL=30', timezone: 'Europe/Berlin', until: null },
    });
    const all10 = await dates(id);
    expect(all10).toHaveLength(10);
    expect(all10.slice(0, 4)).toEqual([
      '2035-01-31T09:00:00.000Z',
      '2035-03-02T09:00:00.000Z',
      '2035-04-01T08:00:00.000Z', // summer
      '2035-05-01T08:00:00.000Z',
    ]);
  });

  test('follows a rule in its zone, whatever the offset of the date; an ordinary post has no further dates [S120]', async () => {
    const recurrence = { rrule: 'FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3', timezone: 'America/New_York' };
    const id = await made(schedule({ date: '2035-02-28T15:00:00Z', recurrence }));
    expect(await dates(id)).toEqual([
      '2035-02-28T15:00:00.000Z',
      '2035-03-31T14:00:00.000Z',
      '2035-04-30T14:00:00.000Z',
    ]);
    expect((await read(id)).recurrence.rrule).toBe('FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3');
    expect(await dates(await made())).toEqual([]);
    expect((await eve.client.get(`/posts/${id}/occurrences`)).status).toBe(404);
  });

  test('keeps a local time that the clocks skip on the first day only [S104, S120]', async () => {
    const id = await made(schedule({ date: '2035-03-25T02:30:00', timezone: 'Europe/Berlin', inter: 1 }));
    expect((await dates(id)).slice(0, 2)).toEqual(['2035-03-25T01:30:00.000Z', '2035-03-26T00:30:00.000Z']);
  });

  test('is listed once for each date of the range, by date and in parts, with the date of the post that waits [S111]', async () => {
    const id = await made(schedule({ inter: 2, date: '2035-01-01T09:00:00Z' }));
    const between = await made(schedule({ date: '2035-01-04T00:00:00Z' }));
    const query = 'startDate=2034-12-30&endDate=2035-01-07T09:00:00Z';
    const expected = ['01', '03', '04', '05', '07'].map((day) => `2035-01-${day}`);
    for (const [client, path] of [
      [ann.client, '/posts'],
      [key, '/public/v1/posts'],
    ] as const) {
      const { posts } = (await client.get(`${path}?${query}`)).body;
      expect(posts.map((post: { publishDate: string }) => post.publishDate.slice(0, 10))).toEqual(expected);
      expect(posts.map((post: { id: string }) => post.id)).toEqual([id, id, between, id, id]);
      expect(posts.map((post: { actualDate?: string }) => post.actualDate?.slice(0, 10))).toEqual(
        expected.map((date) => (date === '2035-01-04' ? undefined : '2035-01-01')),
      );
    }
    const parts: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { posts, nextCursor }: { posts: { publishDate: string }[]; nextCursor: string | null } = (
        await ann.client.get(`/posts?${query}&limit=2${cursor && `&cursor=${cursor}`}`)
      ).body;
      parts.push(...posts.map((post) => post.publishDate.slice(0, 10)));
      cursor = nextCursor;
    }
    expect(parts).toEqual(expected);
    expect((await ann.client.get(`/posts?${query}&state=PUBLISHED`)).body.posts).toEqual([]);
    expect((await eve.client.get(`/posts?${query}`)).body.posts).toEqual([]);
  });

  test('takes the posting times of its dates to come [S119, S120]', async () => {
    await sql`update channels set posting_times = '{600}' where id = ${channel}`;
    const slot = async () => `${(await ann.client.get(`/posts/find-slot/${channel}`)).body.date}.000Z`;
    const free = await slot();
    await made(schedule({ date: free, recurrence: { rrule: 'FREQ=DAILY;COUNT=3', timezone: 'UTC' } }));
    expect(Date.parse(await slot()) - Date.parse(free)).toBe(3 * DAY);
  });

  test('a range with more dates than one answer holds is refused, and told in parts', async () => {
    const body = { type: 'schedule', date: '2040-01-01T09:00:00Z', inter: 1 };
    await made({ ...body, posts: Array.from({ length: 30 }, () => element(channel)) });
    const query = 'startDate=2040-01-01&endDate=2041-01-30';
    expect((await ann.client.get(`/posts?${query}`)).body.errors).toMatchObject([
      { field: 'endDate', rule: 'too_many' },
    ]);
    const { posts, nextCursor } = (await ann.client.get(`/posts?${query}&limit=1000`)).body;
    expect([posts.length, posts[999].publishDate.slice(0, 10)]).toEqual([1_000, '2040-02-03']);
    expect(nextCursor).toMatch(/^2040-02-03/);
    // many series that are counted, looked at far ahead: the work is bounded
    const counted = { rrule: 'FREQ=DAILY;COUNT=10000', timezone: 'UTC' };
    await made({
      type: 'schedule',
      date: '2040-01-01T09:00:00Z',
      recurrence: counted,
      posts: Array.from({ length: 12 }, () => element(channel)),
    });
    const before = process.cpuUsage();
    const far = await ann.client.get('/posts?startDate=2066-01-01&endDate=2066-01-02&limit=10');
    expect([far.status, far.body.errors[0]]).toMatchObject([400, { field: 'startDate', rule: 'too_many' }]);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000); // as a library takes for a tenth of them
  });
});

describe('a series', () => {
  test('goes on with one post as the last one was, with its thread, on the next day [S120]', async () => {
    const thread = [
      { content: '<p>one</p>', image: [{ path: 'https://a.example/1.png' }] },
      { content: '<p>two</p>', delay: 5 },
    ];
    network.behave = async (_, __, accept) => accept();
    const body = now({
      tags: [{ label: 'A' }],
      posts: [{ integration: { id: channel }, value: thread, settings: { a: 1 } }],
    });
    const id = await made(body);
    await sql`update posts set media = '[]' where id = ${id}`;
    await published(id);
    await ann.client.put(`/posts/${(await read(id)).thread[0].id}`, { content: '<p>other</p>' });
    await Promise.all([sweep(), actorOf(ann.orgId).repeat({ postId: id }), actorOf(ann.orgId).repeat({ postId: id })]);
    await sweep();
    const [first, next, ...more] = await all();
    expect(more).toEqual([]);
    expect(next).toMatchObject({
      state: 'QUEUE',
      detail: 'scheduled',
      content: '<p>one</p>',
      group: first.group,
      settings: { a: 1 },
      tags: [{ tag: { name: 'A' } }],
      intervalInDays: 1,
      releaseId: null,
      thread: [{ content: '<p>other</p>', delay: 5, state: 'QUEUE' }],
    });
    expect(Date.parse(next.publishDate) - Date.parse(first.publishDate)).toBe(DAY);
    expect(await timeline(id)).toContainEqual(
      expect.objectContaining({ kind: 'scheduled', data: expect.objectContaining({ postId: next.id }) }),
    );
    expect(await dates(id)).toEqual([]);
    expect((await dates(next.id)).length).toBe(10);
  });

  test('has one successor when its host died before that was written down, and another host makes it, too [S120]', async () => {
    const id = await made(now());
    await published(id);
    const [one, two] = await Promise.all([
      world.posts.prepareSuccessor(ann.orgId, id),
      world.posts.prepareSuccessor(ann.orgId, id),
    ]);
    await Promise.all([one, two].map((next) => world.posts.admitPosts(ann.orgId, [next!.create!])));
    expect(await sweep()).toMatchObject({ series: 1 });
    expect(await sweep()).toMatchObject({ series: 0 });
    expect(await rows()).toBe(2);
  });

  test('goes on after a failure [S120]', async () => {
    network.behave = async () => {
      throw new ProviderError('rejected', 'No');
    };
    const id = await made(now());
    await settles(async () => expect(await read(id)).toMatchObject({ state: 'ERROR' }));
    await sweep();
    expect((await all()).map(({ state }) => state)).toEqual(['ERROR', 'QUEUE']);
  });

  test('follows what is changed of the post that waits, and ends when that one is deleted [S120]', async () => {
    const [, next] = await repeated();
    const moved = new Date(Date.parse((await read(next)).publishDate) + 3 * HOUR).toISOString();
    await ann.client.put(`/posts/${next}/date`, { date: moved });
    expect((await dates(next)).slice(0, 2)).toEqual([moved, new Date(Date.parse(moved) + DAY).toISOString()]);
    expect((await patch(ann.client, `/posts/${next}`, { content: '<p>new</p>', inter: 7 })).status).toBe(200);
    await ann.client.put(`/posts/${next}/date`, { date: systemClock.in(0).toISOString() });
    await published(next);
    await sweep();
    const last = (await all()).at(-1);
    expect(last).toMatchObject({ content: '<p>new</p>', intervalInDays: 7 });
    await ann.client.delete(`/posts/${last.id}`);
    expect(await sweep()).toMatchObject({ series: 0 });
    expect((await all()).map(({ state }) => state)).toEqual(['PUBLISHED', 'PUBLISHED']);
  });

  test('is ended and begun by an edit, and only by one of the post that waits', async () => {
    const [id, next] = await repeated();
    expect((await patch(ann.client, `/posts/${next}`, { inter: null })).body).toMatchObject({ intervalInDays: null });
    expect(
      (await patch(ann.client, `/posts/${next}`, { recurrence: { rrule: 'FREQ=WEEKLY', timezone: 'UTC' } })).body,
    ).toMatchObject({ recurrence: { rrule: 'FREQ=WEEKLY' }, intervalInDays: null });
    await sql`update posts set state = 'ERROR' where id = ${id}`;
    expect((await patch(ann.client, `/posts/${id}`, { inter: 3 })).body).toMatchObject({
      code: 'conflict',
      errors: [{ field: 'recurrence' }],
    });
    expect(
      (
        await create({
          ...now(),
          type: 'update',
          posts: [{ integration: { id: channel }, value: [{ id: next, content: 'x' }] }],
          inter: 4,
          date: later(DAY),
        })
      ).status,
    ).toBe(201);
    expect(await read(next)).toMatchObject({ intervalInDays: 4, content: 'x' });
  });

  test.each([
    ['the number of its dates', { recurrence: { rrule: 'FREQ=DAILY;COUNT=2', timezone: 'UTC' } }],
    ['its last date', { recurrence: { rrule: 'FREQ=DAILY', timezone: 'UTC', until: later(1.5 * DAY) } }],
  ])('ends with %s [S120]', async (_, more) => {
    const [, next] = await repeated({ ...schedule(more), type: 'now' });
    expect(await dates(next)).toHaveLength(1);
    await sql`update posts set state = 'PUBLISHED', detail = null, due_at = null where id = ${next}`;
    expect(await sweep()).toMatchObject({ series: 1 });
    expect(await sweep()).toMatchObject({ series: 0 });
    expect(await rows()).toBe(2);
  });

  test('that stood still goes on with the latest date, and names those that were skipped [S120]', async () => {
    const id = await made(now());
    await published(id);
    await sql`update posts set publish_date = publish_date - interval '3 days 1 hour', due_at = null where id = ${id}`;
    await sweep();
    await settled(sql, ann.orgId); // the late one goes out
    const late = (await all()).at(-1);
    const first = Date.parse((await read(id)).publishDate);
    expect(Date.parse(late.publishDate)).toBe(first + 3 * DAY);
    expect(await timeline(late.id)).toContainEqual(
      expect.objectContaining({
        kind: 'scheduled',
        data: { count: 2, skipped: [1, 2].map((n) => new Date(first + n * DAY).toISOString()) },
      }),
    );
  });

  test('waits while its channel is disabled or deleted', async () => {
    const id = await made(now());
    await published(id);
    await sql`update channels set disabled = true where id = ${channel}`;
    expect(await sweep()).toMatchObject({ series: 0 });
    await sql`update channels set disabled = false, deleted_at = now() where id = ${channel}`;
    expect(await sweep()).toMatchObject({ series: 0 });
    await sql`update channels set deleted_at = null where id = ${channel}`;
    expect(await sweep()).toMatchObject({ series: 1 });
  });
});

describe('a body is refused, with the field and the rule, and nothing is stored', () => {
  const rule = (rrule: unknown, more: object = {}) => ({ recurrence: { rrule, timezone: 'UTC', ...more } });
  test.each<[string, object]>([
    ['inter', { inter: 366 }],
    ['inter', { inter: -1 }],
    ['inter', { inter: 1.5 }],
    ['inter', { inter: '3' }],
    ['inter', { inter: 1, ...rule('FREQ=DAILY') }],
    ['recurrence', { recurrence: 'FREQ=DAILY' }],
    ['recurrence.rrule', { recurrence: { timezone: 'UTC' } }],
    ['recurrence.rrule', rule(7)],
    ['recurrence.rrule', rule('FREQ=SECONDLY')],
    ['recurrence.rrule', rule(`FREQ=DAILY;BYMONTH=${'1,'.repeat(300)}1`)],
    ['recurrence.rrule', rule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30')],
    ['recurrence.rrule', rule('FREQ=DAILY;COUNT=1')],
    ['recurrence.rrule', rule('FREQ=DAILY;UNTIL=20200101')],
    ['recurrence.timezone', { recurrence: { rrule: 'FREQ=DAILY' } }],
    ['recurrence.timezone', rule('FREQ=DAILY', { timezone: 'Mars/Olympus' })],
    ['recurrence.until', rule('FREQ=DAILY', { until: 'soon' })],
    ['recurrence.until', rule('FREQ=DAILY', { until: '2020-01-01' })],
    ['recurrence.until', rule('FREQ=DAILY;COUNT=3', { until: '2040-01-01' })],
    ['recurrence.every', rule('FREQ=DAILY', { every: 1 })],
  ])('%s: %j [S120]', async (field, more) => {
    const { status, body } = await create(schedule(more));
    expect([status, body.errors?.[0]?.field]).toEqual([400, field]);
    expect(await rows()).toBe(0);
  });

  test('a date behind the end of its rule, until the rule is changed with it or another post goes on [S113, S120]', async () => {
    const until = '2035-01-10T09:00:00.000Z';
    const id = await made(schedule({ date: '2035-01-01T09:00:00Z', ...rule('FREQ=DAILY', { until }) }));
    const date = '2035-01-10T09:00:01.000Z';
    const update = (more: object = {}) =>
      create({
        ...schedule({ date, ...more }),
        type: 'update',
        posts: [{ integration: { id: channel }, value: [{ id, content: 'a' }] }],
      });
    const fault = (field: string) => ({ code: 'validation_failed', errors: [{ field, rule: 'no_dates' }] });
    expect((await patch(ann.client, `/posts/${id}`, { publishDate: date })).body).toMatchObject(fault('publishDate'));
    expect((await ann.client.put(`/posts/${id}/date`, { date })).body).toMatchObject(fault('date'));
    expect((await update()).body).toMatchObject(fault('date'));
    expect((await read(id)).publishDate).toBe('2035-01-01T09:00:00.000Z');
    expect((await ann.client.put(`/posts/${id}/date`, { date: until })).status).toBe(200); // the last one
    const more = { ...rule('FREQ=DAILY', { until: '2035-02-01T09:00:00Z' }) };
    expect((await update(more)).status).toBe(201);
    expect((await patch(ann.client, `/posts/${id}`, { publishDate: '2036-01-01T09:00:00Z', inter: null })).status).toBe(
      200,
    );
    await patch(ann.client, `/posts/${id}`, more);
    await sql`update posts set repeated_at = now() where id = ${id}`;
    expect((await ann.client.put(`/posts/${id}/date`, { date: '2036-02-01T09:00:00Z' })).status).toBe(200);
  });

  test('also in an edit, of an item of a thread, or of a post elsewhere [S120]', async () => {
    const id = await made(
      schedule({ posts: [{ integration: { id: channel }, value: [{ content: 'a' }, { content: 'b' }] }] }),
    );
    const edit = (postId: string, body: object, client = ann.client) => patch(client, `/posts/${postId}`, body);
    expect((await edit(id, { inter: 400 })).body.errors[0].field).toBe('inter');
    expect((await edit(id, rule('FREQ=DAILY;INTERVAL=0'))).body.errors[0].field).toBe('recurrence.rrule');
    expect((await edit((await read(id)).thread[0].id, { inter: 1 })).body.errors[0]).toMatchObject({
      field: 'inter',
      rule: 'not_root',
    });
    expect((await edit(id, { inter: 1 }, eve.client)).status).toBe(404);
    expect((await create(daily({ posts: [element(foreign)] }))).status).toBe(400);
    expect((await read(id)).recurrence).toBeNull();
  });
});

describe('what follows a post of a series that was approved', () => {
  const setting = async (approvalRequired: false | 'members' | 'all') =>
    expect((await ann.client.put('/settings', { approvalRequired })).status).toBe(200);
  afterEach(() => setting(false));

  test('is approved with it, and asks again when it is changed [S120, S121]', async () => {
    await setting('all');
    const id = await made(now());
    expect((await ann.client.post(`/posts/${id}/approve`, {})).status).toBe(200);
    await published(id);
    await sweep();
    const [first, next] = await all();
    expect(next).toMatchObject({ state: 'QUEUE', detail: 'scheduled', approval: first.approval });
    await patch(ann.client, `/posts/${next.id}`, { content: 'other' });
    expect(await read(next.id)).toMatchObject({ state: 'DRAFT', detail: 'awaiting_approval' });
  });

  test('is held where the post before it was never asked about and everybody is by now [S120, S121]', async () => {
    const id = await made(now());
    await published(id);
    await setting('all');
    await sweep();
    const [, next] = await all();
    expect(next).toMatchObject({ state: 'DRAFT', detail: 'awaiting_approval' });
  });

  test('waits under a brake [S120, S123]', async () => {
    const id = await made(now());
    await published(id);
    expect((await ann.client.post('/posts/pause', { scope: 'org' })).status).toBe(200);
    await sweep();
    const [, next] = await all();
    expect(next).toMatchObject({ state: 'QUEUE', detail: 'paused' });
    await ann.client.post('/posts/resume', { scope: 'org' });
    expect(await read(next.id)).toMatchObject({ detail: 'scheduled' });
  });
});
