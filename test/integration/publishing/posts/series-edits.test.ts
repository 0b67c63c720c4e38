import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SignedUp } from '../../../support/worlds/app.ts';
import { later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

// What is changed of a post of a series, and what that means for those that follow.

const routes = await openPostRoutes();
const { db, app, world, ann, channel, schedule, create, made, read } = routes;
const { sql } = db;
afterAll(routes.close);
beforeEach(() => sql`delete from posts`);

/** A further member of Ann's organization. */
async function join(role: string): Promise<SignedUp> {
  const user = await app.signUp();
  await sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${user.userId}, ${role})`;
  user.client.headers['showorg'] = ann.orgId;
  return user;
}
const member = await join('member');
const editor = await join('editor');
const admin = await join('admin');
const DAY = 24 * 3_600_000;
const HELD = { state: 'DRAFT', detail: 'awaiting_approval' };

const setting = async (approvalRequired: false | 'members' | 'all') =>
  expect((await ann.client.put('/settings', { approvalRequired })).status).toBe(200);
afterEach(() => setting(false));

test('a post is not approved for a date behind the end of its series [S120, S121]', async () => {
  await setting('all');
  const until = later(3 * DAY);
  const id = await made(schedule({ recurrence: { rrule: 'FREQ=DAILY', timezone: 'UTC', until } }));
  const approve = (publishDate: string) => admin.client.post(`/posts/${id}/approve`, { publishDate });
  expect((await approve(later(4 * DAY))).body).toMatchObject({
    code: 'validation_failed',
    errors: [{ field: 'publishDate', rule: 'no_dates' }],
  });
  expect(await read(id)).toMatchObject(HELD);
  expect((await approve(until)).status).toBe(200);
});

test('another rule keeps the hour that the clocks skip at the date of the post, in its zone alone [S104, S120]', async () => {
  const rule = (interval: number, timezone = 'Europe/Berlin') => ({
    recurrence: { rrule: `FREQ=DAILY;INTERVAL=${interval}`, timezone },
  });
  const dates = async (id: string) => (await ann.client.get(`/posts/${id}/occurrences`)).body.slice(0, 2);
  const id = await made(schedule({ date: '2035-03-25T02:30:00', timezone: 'Europe/Berlin', ...rule(1) }));
  expect(await dates(id)).toEqual(['2035-03-25T01:30:00.000Z', '2035-03-26T00:30:00.000Z']);
  await ann.client.send('PATCH', `/posts/${id}`, rule(2));
  expect(await dates(id)).toEqual(['2035-03-25T01:30:00.000Z', '2035-03-27T00:30:00.000Z']);
  const body = schedule({ type: 'update', date: undefined, ...rule(3) });
  await create({ ...body, posts: [{ integration: { id: channel }, value: [{ id, content: 'other' }] }] });
  expect(await dates(id)).toEqual(['2035-03-25T01:30:00.000Z', '2035-03-28T00:30:00.000Z']);
  await ann.client.send('PATCH', `/posts/${id}`, rule(2, 'UTC'));
  expect(await dates(id)).toEqual(['2035-03-25T01:30:00.000Z', '2035-03-27T01:30:00.000Z']);
});

test('an empty rule says nothing about a series, null ends it [S109, S120]', async () => {
  const id = await made(schedule({ recurrence: { rrule: 'FREQ=DAILY', timezone: 'UTC' } }));
  const dates = async () => (await ann.client.get(`/posts/${id}/occurrences`)).body.length;
  const edit = { type: 'update', posts: [{ integration: { id: channel }, value: [{ id, content: 'other' }] }] };
  for (const recurrence of [{}, { until: null }]) {
    expect((await ann.client.send('PATCH', `/posts/${id}`, { recurrence })).status).toBe(200);
    expect((await create({ ...edit, recurrence })).status).toBe(201);
  }
  expect(await dates()).toBe(10);
  expect((await ann.client.send('PATCH', `/posts/${id}`, { recurrence: null })).status).toBe(200);
  expect(await dates()).toBe(0);
});

test('preflight refuses what would end a series, or change one that another post goes on with [S116, S120]', async () => {
  const until = later(3 * DAY);
  const id = await made(schedule({ recurrence: { rrule: 'FREQ=DAILY', timezone: 'UTC', until } }));
  const edit = (more: object) => ({
    type: 'update',
    ...more,
    posts: [{ integration: { id: channel }, value: [{ id, content: 'other' }] }],
  });
  const judged = async (more: object) => {
    const [{ valid, issues }] = (await ann.client.post('/posts/preflight', edit(more))).body;
    const { status, body } = await create(edit(more));
    expect([valid, issues]).toEqual(status === 201 ? [true, []] : [false, body.errors]);
    return status;
  };
  expect(await judged({ date: later(4 * DAY) })).toBe(400);
  expect(await judged({ type: 'schedule', date: later(4 * DAY) })).toBe(400);
  expect(await judged({ date: until })).toBe(201);
  expect(await judged({ date: later(4 * DAY), recurrence: { rrule: 'FREQ=DAILY', timezone: 'UTC' } })).toBe(201);
  await sql`update posts set repeated_at = now() where id = ${id}`;
  expect(await judged({ inter: 2 })).toBe(409);
  expect(await judged({ date: later(4 * DAY) })).toBe(201);
});

describe('a failed post of a series whose next one is not made yet', () => {
  const fail = (id: string) => sql`
    update posts
    set state = 'ERROR', detail = null, error_kind = 'validation', due_at = null
    where id = ${id} or root_post_id = ${id}`;
  /** The post that follows in the series. */
  async function next(id: string) {
    await world.reconciler.sweep();
    const [row] = await sql<{ id: string }[]>`
      select id from posts where org_id = ${ann.orgId} and root_post_id is null and id <> ${id}`;
    return read(row!.id);
  }
  async function failed({ approve }: { approve: boolean }): Promise<string> {
    if (approve) await setting('members');
    const body = schedule({
      inter: 1,
      posts: [{ integration: { id: channel }, value: [{ content: 'one' }, { content: 'two' }] }],
    });
    const id = (await member.client.post('/posts', body)).body[0].postId as string;
    if (approve) expect((await admin.client.post(`/posts/${id}/approve`, {})).body).toMatchObject({ state: 'QUEUE' });
    await fail(id);
    await setting('members');
    return id;
  }
  test.each([
    ['was approved', true],
    ['was never asked about', false],
  ])('has the next one held where it %s and a member changes it [S120, S121]', async (_, approve) => {
    const id = await failed({ approve });
    expect((await member.client.send('PATCH', `/posts/${id}`, { content: 'other' })).body).toMatchObject({
      state: 'ERROR',
      approval: { state: 'awaiting', by: member.userId },
    });
    expect(await next(id)).toMatchObject({ content: 'other', ...HELD });
  });

  test('has the next one held when an editor deletes an item of it [S120, S121]', async () => {
    const id = await failed({ approve: true });
    const [item] = (await read(id)).thread;
    expect((await editor.client.send('DELETE', `/posts/${item.id}`)).status).toBe(200);
    expect(await next(id)).toMatchObject({ ...HELD, thread: [] });
  });

  test('has the next one queued once the change is approved, and held again once it is rejected [S120, S121]', async () => {
    const id = await failed({ approve: true });
    await member.client.send('PATCH', `/posts/${id}`, { content: 'other' });
    expect((await admin.client.post(`/posts/${id}/approve`, {})).status).toBe(200);
    expect(await next(id)).toMatchObject({ content: 'other', state: 'QUEUE', approval: { state: 'approved' } });

    await sql`delete from posts`;
    const refused = await failed({ approve: true });
    await member.client.send('PATCH', `/posts/${refused}`, { content: 'other' });
    expect((await admin.client.post(`/posts/${refused}/reject`, { reason: 'no' })).status).toBe(200);
    expect(await next(refused)).toMatchObject(HELD);
  });

  test('keeps the time of day of its series where it is sent again and held [S118, S120, S121]', async () => {
    const id = await failed({ approve: false });
    const [row] = await sql<{ at: Date }[]>`
      update posts
      set publish_date = publish_date - interval '3 hours'
      where id = ${id}
      returning publish_date as at`;
    const { at } = row!;
    const held = { ...HELD, publishDate: at.toISOString() };
    expect((await member.client.post(`/posts/${id}/retry`, {})).body).toMatchObject(held);
    const [, following] = (await ann.client.get(`/posts/${id}/occurrences`)).body;
    expect(following).toBe(new Date(at.getTime() + DAY).toISOString());
    expect((await admin.client.post(`/posts/${id}/approve`, {})).body).toMatchObject({ state: 'QUEUE' });
  });

  test('has the next one queued as it was where nobody changed it, or who may schedule freely did [S120, S121]', async () => {
    const untouched = await failed({ approve: true });
    expect(await next(untouched)).toMatchObject({ state: 'QUEUE', approval: { state: 'approved' } });
    await sql`delete from posts`;
    await setting(false);
    const id = await failed({ approve: false });
    await admin.client.send('PATCH', `/posts/${id}`, { content: 'other' });
    expect(await next(id)).toMatchObject({ content: 'other', state: 'QUEUE', approval: null });
  });
});
