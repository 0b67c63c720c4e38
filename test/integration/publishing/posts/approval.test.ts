import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import type { Client, SignedUp } from '../../../support/worlds/app.ts';
import { belowPosts } from '../../../support/worlds/publishing/follow-ups.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

const HOUR = 3_600_000;
const routes = await openPostRoutes();
const { db, app, network, ann, eve, channel, foreign, schedule, read, published } = routes;
afterAll(routes.close);

/** A further member of Ann's organization. */
async function join(role: string): Promise<SignedUp> {
  const user = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${user.userId}, ${role})`;
  user.client.headers['showorg'] = ann.orgId;
  return user;
}
const customRole = async (permissions: string[]): Promise<string> => {
  const id = newId();
  await db.sql`insert into roles (id, org_id, name, permissions) values (${id}, ${ann.orgId}, ${id}, ${permissions})`;
  return id;
};
const member = await join('member');
const admin = await join('admin');
const setting = async (approvalRequired: false | 'members' | 'all', client: Client = ann.client) =>
  expect((await client.put('/settings', { approvalRequired })).body.approvalRequired).toBe(approvalRequired);
beforeEach(() => setting(false));

async function make(client: Client, body: object = schedule()): Promise<string> {
  const answer = await client.post('/posts', body);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body[0].postId;
}
const approve = (id: string, body: object = {}, client: Client = admin.client) =>
  client.post(`/posts/${id}/approve`, body);
/** A post of a member that was approved, for in an hour. */
async function approved(body?: object): Promise<string> {
  await setting('members');
  const id = await make(member.client, body);
  expect((await approve(id)).body).toMatchObject({ state: 'QUEUE', approval: { state: 'approved' } });
  return id;
}
const facts = async (id: string) =>
  (await db.sql`select topic, payload from outbox where entity_id = ${id} order by id`).map(
    (row) => [row['topic'], row['payload']] as [string, Record<string, unknown>],
  );
const kinds = async (id: string) =>
  (await ann.client.get(`/posts/${id}/timeline`)).body.items.map(({ kind }: { kind: string }) => kind);
const HELD = { state: 'DRAFT', detail: 'awaiting_approval' };
const threadOf = (id: string) =>
  schedule({
    posts: [{ integration: { id: channel }, value: [{ content: 'one' }, { content: 'two' }] }],
    ...(id && {}),
  });

/** A thread that had failed, of which a member has named the release of the first item: the rest is held. */
async function releasedByMember() {
  const id = await make(member.client, threadOf(''));
  const [item] = (await read(id)).thread;
  await db.sql`
    update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'x', due_at = null,
      publish_date = now()
    where id = ${id} or root_post_id = ${id}`;
  await setting('members');
  await member.client.put(`/posts/${id}/release-id`, { releaseId: 'there' });
  return { id, item };
}

describe('approvalRequired', () => {
  test('holds what members, editors and roles that may not decide make, or what everybody makes [S121, S54]', async () => {
    const [editor, writer, chief] = await Promise.all([
      join('editor'),
      customRole(['posts:create', 'posts:read', 'posts:update']).then(join),
      customRole(['posts:manage']).then(join),
    ]);
    const people = { owner: ann, admin, editor, member, writer, chief };
    const statesOf = async () =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(people).map(async ([name, { client }]) => [
            name,
            (await read(await make(client))).detail as string,
          ]),
        ),
      );
    const held = 'awaiting_approval';
    const all = { owner: 'scheduled', admin: 'scheduled', chief: 'scheduled' };
    expect(await statesOf()).toEqual({ ...all, editor: 'scheduled', member: 'scheduled', writer: 'scheduled' });
    await setting('members');
    expect(await statesOf()).toEqual({ ...all, editor: held, member: held, writer: held });
    const { editor: _, ...keyed } = { editor, admin };
    const keyOfAdmin = await keyed.admin.withKey();
    expect((await read((await keyOfAdmin.post('/public/v1/posts', schedule())).body[0].postId)).detail).toBe(
      'scheduled',
    );
    await setting('all');
    expect(new Set(Object.values(await statesOf()))).toEqual(new Set([held]));
  });

  test('is told of before anything is stored, and holds what a plan creates [S121, S116, S124]', async () => {
    await setting('members');
    const codes = async (client: Client, body: object) =>
      (await client.post('/posts/preflight', body)).body[0].warnings.map(({ code }: { code: string }) => code);
    expect(await codes(member.client, schedule())).toContain('approval_needed');
    expect(await codes(member.client, schedule({ type: 'draft' }))).not.toContain('approval_needed');
    expect(await codes(admin.client, schedule())).not.toContain('approval_needed');
    const { body } = await member.client.post('/posts/bulk', { items: [schedule()], apply: true });
    expect(await read(body.rows[0].postId)).toMatchObject(HELD);
  });

  test('a held post says who asks and for which content, in its object, its timeline and its fact [S121, S99, S117]', async () => {
    await setting('members');
    const id = await make(member.client, threadOf(''));
    const post = await read(id);
    expect(post).toMatchObject({ ...HELD, thread: [{ ...HELD, approval: null }] });
    expect(post.approval).toEqual({
      state: 'awaiting',
      by: member.userId,
      at: expect.any(String),
      contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await kinds(id)).toEqual(['created']);
    const [fact, ...others] = await facts(id);
    expect([fact![0], others]).toEqual(['post.approval_requested', []]);
    expect(fact![1]).toMatchObject({ ...HELD, by: member.userId, reason: null, content: 'one', channelId: channel });
    expect((await read(await make(member.client, schedule({ type: 'draft' })))).approval).toBeNull();
  });

  test('no change of state queues a post around it [S121]', async () => {
    const drafts = await Promise.all(Array.from({ length: 3 }, () => make(member.client, schedule({ type: 'draft' }))));
    const [queued, failed, moved] = await Promise.all([make(member.client), make(member.client), make(member.client)]);
    await db.sql`update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'x', due_at = null
      where id = ${failed}`;
    await setting('members');
    const { client } = member;
    expect((await client.put(`/posts/${drafts[0]}/status`, { status: 'schedule' })).body.state).toBe('DRAFT');
    expect((await client.put(`/posts/${drafts[1]}/date`, { date: later() })).body.state).toBe('DRAFT');
    await client.post('/posts', {
      type: 'now',
      posts: [{ integration: { id: channel }, value: [{ content: 'x', id: drafts[2] }] }],
    });
    expect((await client.post(`/posts/${failed}/retry`, {})).body).toMatchObject(HELD);
    expect((await client.put(`/posts/${queued}`, { content: 'other' })).body).toMatchObject(HELD);
    for (const id of [...drafts, failed, queued])
      expect(await read(id)).toMatchObject({ ...HELD, approval: { state: 'awaiting', by: member.userId } });
    expect((await client.put(`/posts/${moved}/date`, { date: later(2 * HOUR) })).body.state).toBe('QUEUE'); // queued before
    expect((await admin.client.put(`/posts/${queued}/status`, { status: 'schedule' })).body.state).toBe('DRAFT');
    await setting(false); // releases nothing
    expect((await client.put(`/posts/${queued}/status`, { status: 'schedule' })).body.state).toBe('DRAFT');
    expect((await read(queued)).detail).toBe('awaiting_approval');
  });
});

describe('POST /posts/:id/approve', () => {
  test('queues the thread as it was seen; a hash of other content, and a second time, are 409 [S121, S117]', async () => {
    await setting('members');
    const id = await make(member.client, threadOf(''));
    const { contentHash } = (await read(id)).approval;
    await member.client.put(`/posts/${id}`, { content: 'changed' });
    expect((await approve(id, { contentHash })).body.code).toBe('conflict');
    const seen = (await read(id)).approval.contentHash;
    expect(seen).not.toBe(contentHash);
    const { status, body } = await approve(id, { contentHash: seen });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      state: 'QUEUE',
      detail: 'scheduled',
      approval: { state: 'approved', by: admin.userId, contentHash: seen },
      thread: [{ state: 'QUEUE', detail: 'scheduled' }],
    });
    expect((await approve(id)).body.code).toBe('conflict');
    expect(await kinds(id)).toEqual(['created', 'edited', 'approved', 'scheduled']);
    expect((await facts(id)).map(([topic, { by }]) => [topic, by])).toEqual([
      ['post.approval_requested', member.userId],
      ['post.approved', admin.userId],
      ['post.scheduled', undefined],
    ]);
  });

  test('a date that has gone by for less than a day is due at once, an older one needs another [S121]', async () => {
    await setting('members');
    const [late, old] = await Promise.all([make(member.client), make(member.client)]);
    await db.sql`
      update posts
      set publish_date = now() - case when id = ${late} then interval '23 hours' else interval '25 hours' end
      where id in ${db.sql([late, old])}`;
    expect((await approve(old)).body).toMatchObject({ code: 'date_in_past', errors: [{ field: 'publishDate' }] });
    expect((await read(old)).detail).toBe('awaiting_approval');
    expect((await approve(late)).status).toBe(200);
    await published(late);
    const date = later(3 * HOUR);
    expect((await approve(old, { publishDate: date })).body).toMatchObject({ state: 'QUEUE', publishDate: date });
  });

  test('is for who may decide about posts, on own posts only where nobody else could [S121, S54]', async () => {
    await setting('members');
    const editor = await join('editor');
    const own = await make(editor.client);
    expect((await approve(own, {}, editor.client)).status).toBe(403);
    expect((await editor.client.post(`/posts/${own}/reject`, { reason: 'no' })).status).toBe(403);
    const id = await make(member.client);
    for (const { client } of [member, await join('viewer')]) expect((await approve(id, {}, client)).status).toBe(403);
    expect((await approve(id, {}, eve.client)).status).toBe(404);
    expect((await approve(id, {}, editor.client)).status).toBe(200);
    await setting('all', eve.client);
    const alone = await make(eve.client, { ...schedule(), posts: [element(foreign)] });
    expect((await read(alone, eve.client)).detail).toBe('awaiting_approval');
    expect((await approve(alone, {}, eve.client)).body.state).toBe('QUEUE');
    await setting(false, eve.client);
  });

  test('is asked for the items that go on behind a release which a member names [S121, S258]', async () => {
    const { id, item } = await releasedByMember();
    expect(await read(id)).toMatchObject({
      state: 'PUBLISHED',
      approval: { state: 'awaiting' },
      thread: [HELD],
    });
    expect((await approve(id)).status).toBe(200);
    await published(item.id);
  });

  test('of what goes on behind a release judges that alone, not what is out [S121, S108]', async () => {
    const { id, item } = await releasedByMember();
    await db.sql`update posts set content = ${'x'.repeat(101)} where id = ${item.id}`;
    const refused = await approve(id);
    expect(refused.body.errors).toMatchObject([{ field: 'thread.0.content' }]);
    belowPosts(network);
    await db.sql`
      update posts
      set content = case when id = ${id} then ${'x'.repeat(101)} else 'two' end,
        settings = case when id = ${id} then ${db.sql.json({ firstComment: 'x'.repeat(200_000) })} else settings end,
        media = case when id = ${id} then ${db.sql.json([{ id: newId(), path: 'https://a.example/gone.png', alt: '' }])} else media end
      where id in ${db.sql([id, item.id])}`;
    expect((await admin.client.post(`/posts/${id}/reject`, { reason: 'no' })).status).toBe(200);
    expect((await member.client.post(`/posts/${id}/request-approval`)).status).toBe(200);
    expect((await approve(id)).body).toMatchObject({ state: 'PUBLISHED', approval: { state: 'approved' } });
    network.declares = {};
    await published(item.id);
  });

  test('of what goes on behind a release waits while its channel is deleted with that [S121, S136]', async () => {
    const { id, item } = await releasedByMember();
    await db.sql`update posts set deleted_at = now() where id = ${item.id}`;
    await db.sql`update channels set deleted_at = now() where id = ${channel}`;
    expect((await admin.client.post(`/posts/${id}/reject`, { reason: 'no' })).status).toBe(409);
    expect((await approve(id)).status).toBeGreaterThanOrEqual(400);
    await db.sql`update posts set deleted_at = null where id = ${item.id}`;
    await db.sql`update channels set deleted_at = null where id = ${channel}`;
    expect(await read(id)).toMatchObject({ approval: { state: 'awaiting' }, thread: [HELD] });
    expect((await approve(id)).status).toBe(200);
    await published(item.id);
  });

  test('judges content and input before anything is stored [S121, S108]', async () => {
    await setting('members');
    const id = await make(member.client);
    expect((await member.client.put(`/posts/${id}`, { content: 'x'.repeat(101) })).body.code).toBe('invalid_content');
    await db.sql`update posts set content = ${'x'.repeat(101)} where id = ${id}`;
    expect((await approve(id)).body.code).toBe('invalid_content');
    for (const [body, field] of [
      [{ contentHash: 1 }, 'contentHash'],
      [{ contentHash: 'x'.repeat(129) }, 'contentHash'],
      [{ publishDate: 'soon' }, 'publishDate'],
      [{ other: 1 }, 'other'],
    ] as const)
      expect([(await approve(id, body)).status, (await approve(id, body)).body.errors[0].field]).toEqual([400, field]);
    for (const body of [{}, { reason: '' }, { reason: 'x'.repeat(2_001) }, { reason: null }])
      expect((await admin.client.post(`/posts/${id}/reject`, body)).body.errors[0].field).toBe('reason');
    expect((await read(id)).detail).toBe('awaiting_approval');
  });
});

describe('a change of an approved post', () => {
  test.each<[string, (id: string, item: string) => Promise<{ status: number }>]>([
    ['its content', (id) => ann.client.put(`/posts/${id}`, { content: 'other' })],
    ['its pictures', (id) => member.client.put(`/posts/${id}`, { image: [{ path: 'https://a.example/a.png' }] })],
    ['its settings', (id) => member.client.put(`/posts/${id}/settings`, { settings: { a: 2 } })],
    ['an item of its thread', (_, item) => member.client.put(`/posts/${item}`, { content: 'other' })],
    ['its thread', (id) => member.client.put(`/posts/${id}`, { thread: [] })],
    ['what is left without an item', (_, item) => ann.client.delete(`/posts/${item}`)],
    [
      'it by a create body',
      (id) =>
        member.client.post('/posts', {
          type: 'update',
          posts: [{ integration: { id: channel }, value: [{ content: 'other', id }] }],
        }),
    ],
  ])('of %s asks again, in the same commit [S121]', async (_, change) => {
    const id = await approved(threadOf(''));
    const before = await read(id);
    expect((await change(id, before.thread[0].id)).status).toBeLessThan(300);
    const after = await read(id);
    expect(after).toMatchObject({ ...HELD, approval: { state: 'awaiting' } });
    expect(after.thread.every(({ detail }: { detail: string }) => detail === 'awaiting_approval')).toBe(true);
    expect(after.approval.contentHash).not.toBe(before.approval.contentHash);
    expect((await facts(id)).at(-1)![0]).toBe('post.approval_requested');
  });

  test('of date, tags, title or the same content keeps the consent [S121]', async () => {
    const id = await approved();
    const { content, settings, approval } = await read(id);
    const change = { publishDate: later(5 * HOUR), tags: [{ label: 'a' }], title: 'T', content, settings, thread: [] };
    expect((await member.client.put(`/posts/${id}`, change)).body).toMatchObject({ state: 'QUEUE', approval });
    expect((await member.client.put(`/posts/${id}/status`, { status: 'draft' })).body.state).toBe('DRAFT');
    expect((await member.client.put(`/posts/${id}/status`, { status: 'schedule' })).body.state).toBe('QUEUE');
  });
});

describe('a thread that was approved', () => {
  const two = { content: 'two', image: [{ path: 'https://a.example/a.png', alt: 'a' }], delay: 3 };
  const threadWith = (...value: object[]) => schedule({ posts: [{ integration: { id: channel }, value }] });

  test('keeps the consent when the same thread is sent again, alone or by a create body [S121]', async () => {
    const id = await approved(threadWith({ content: 'one' }, two));
    const { approval } = await read(id);
    expect((await member.client.put(`/posts/${id}`, { thread: [two] })).body).toMatchObject({
      state: 'QUEUE',
      approval,
    });
    const again = threadWith({ content: 'one', id }, two);
    expect((await member.client.post('/posts', { ...again, date: later(5 * HOUR) })).status).toBe(201);
    expect(await read(id)).toMatchObject({ state: 'QUEUE', approval, thread: [{ state: 'QUEUE' }] });
  });

  test.each<[string, object[]]>([
    ['another text', [{ ...two, content: 'other' }]],
    ['another picture', [{ ...two, image: [] }]],
    ['another delay', [{ ...two, delay: 4 }]],
    ['one item more', [two, two]],
  ])('asks again with %s in an item [S121]', async (_, thread) => {
    const id = await approved(threadWith({ content: 'one' }, two));
    expect((await member.client.put(`/posts/${id}`, { thread })).body).toMatchObject(HELD);
  });

  test('asks again with the same thread where its items get other settings by that [S121]', async () => {
    const id = await approved(threadWith({ content: 'one' }, two));
    await db.sql`update posts set settings = '{"a":1}' where root_post_id = ${id}`;
    expect((await member.client.put(`/posts/${id}`, { thread: [two] })).body).toMatchObject(HELD);
  });

  test('asks again where settings that the first item has already are new to a later one [S121]', async () => {
    const id = await approved(threadWith({ content: 'one' }, two));
    await db.sql`update posts set settings = '{"a":1}' where root_post_id = ${id}`;
    const { settings } = await read(id);
    expect((await member.client.put(`/posts/${id}`, { settings })).body).toMatchObject(HELD);
  });
});

describe('POST /posts/:id/reject and /request-approval', () => {
  test('a rejected post is a draft with its reason, until approval is asked for again [S121]', async () => {
    await setting('members');
    const id = await make(member.client);
    const { body } = await admin.client.post(`/posts/${id}/reject`, { reason: 'Too loud' });
    expect(body).toMatchObject({ state: 'DRAFT', detail: null, approval: { state: 'rejected', by: admin.userId } });
    expect((await facts(id)).at(-1)).toMatchObject(['post.rejected', { by: admin.userId, reason: 'Too loud' }]);
    expect((await approve(id)).status).toBe(409);
    expect((await member.client.post(`/posts/${id}/request-approval`)).body).toMatchObject({
      ...HELD,
      approval: { state: 'awaiting', by: member.userId },
    });
    await admin.client.post(`/posts/${id}/reject`, { reason: 'Still' });
    expect((await member.client.put(`/posts/${id}/status`, { status: 'schedule' })).body.state).toBe('DRAFT');
    expect((await read(id)).detail).toBe('awaiting_approval');
  });

  test('is asked for again for what is left of a thread whose root is out [S121]', async () => {
    const { id, item } = await releasedByMember();
    await admin.client.post(`/posts/${id}/reject`, { reason: 'Too loud' });
    expect(await read(id)).toMatchObject({ state: 'PUBLISHED', thread: [{ state: 'DRAFT', detail: null }] });
    expect((await member.client.post(`/posts/${id}/request-approval`)).body).toMatchObject({
      approval: { state: 'awaiting', by: member.userId },
      thread: [HELD],
    });
    expect((await approve(id)).status).toBe(200);
    await published(item.id);
    expect((await member.client.post(`/posts/${id}/request-approval`)).status).toBe(409);
  });

  test('approval of any draft can be asked for and taken back; of a queued post it cannot', async () => {
    const id = await make(member.client, schedule({ type: 'draft' }));
    expect((await member.client.post(`/posts/${id}/request-approval`)).body).toMatchObject(HELD);
    expect((await member.client.post(`/posts/${id}/request-approval`)).status).toBe(200);
    expect((await member.client.put(`/posts/${id}/status`, { status: 'draft' })).body.state).toBe('DRAFT');
    expect(await read(id)).toMatchObject({ detail: null, approval: null });
    expect((await member.client.post(`/posts/${await make(member.client)}/request-approval`)).status).toBe(409);
    const foreigners = await make(ann.client, schedule({ type: 'draft' }));
    expect((await member.client.post(`/posts/${foreigners}/request-approval`)).status).toBe(403);
  });
});
