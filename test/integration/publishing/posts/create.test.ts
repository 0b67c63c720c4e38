import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { newPost } from '../../../support/worlds/publishing/world.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
const routes = await openPostRoutes();
const { db, app, world, network, ann, eve, key, channel, second, foreign } = routes;
const { connect, schedule, create, rows, made, read, published } = routes;
afterAll(routes.close);
const fieldsOf = (errors: readonly { field: string }[]) => errors.map(({ field }) => field);
beforeEach(() => {
  network.behave = undefined;
});

describe('POST /public/v1/posts', () => {
  test('an unknown, foreign or deleted channel is 400 and nothing is stored [S9, S107, S269, GN2]', async () => {
    const gone = await connect(ann.orgId, 'Gone');
    await db.sql`update channels set deleted_at = now() where id = ${gone}`;
    const before = await rows();
    for (const id of [newId(), foreign, gone, 'no-id', '']) {
      const { status, body } = await create(schedule({ posts: [element(channel), element(id)] }));
      expect([status, body.msg, body.errors[0].field]).toEqual([
        400,
        'Integration not found',
        'posts.1.integration.id',
      ]);
    }
    expect(await rows()).toBe(before);
  });

  test('a disabled channel accepts drafts only; one that needs a login accepts posts and pauses them [S107]', async () => {
    const disabled = await connect(ann.orgId, 'Disabled', { disabled: true });
    const waiting = await connect(ann.orgId, 'Waiting', { refreshNeeded: true });
    for (const type of ['schedule', 'now'])
      expect((await create({ ...schedule({ type }), posts: [element(disabled)] })).status).toBe(400);
    await made({ ...schedule({ type: 'draft' }), posts: [element(disabled)] });
    expect(await read(await made({ ...schedule(), posts: [element(waiting)] }))).toMatchObject({
      state: 'QUEUE',
      detail: 'paused',
    });
  });

  test('content that the network would refuse is 400 with provider and name; all posts are stored or none [S108]', async () => {
    const before = await rows();
    const long = 'x'.repeat(101);
    for (const value of [
      [{ content: long }],
      [{ content: '<p></p>' }],
      [{ content: 'ok' }, { content: long }],
      [{ content: 'x', image: Array.from({ length: 5 }, () => ({ path: 'https://a.example/x.png' })) }],
    ]) {
      const { status, body } = await create(
        schedule({ posts: [element(second), { integration: { id: channel }, value }] }),
      );
      expect([status, body.code, body.provider, body.name]).toEqual([400, 'invalid_content', 'fake', 'First']);
    }
    expect(await rows()).toBe(before);
    await made(schedule({ posts: [element(channel, `<p>${'x'.repeat(100)}</p>`)] })); // tags do not count (T15)
    await made(schedule({ type: 'draft', posts: [element(channel, long)] }));
  });

  test('a refusal names the fields of every fault, as preflight does, and is that of the first [S6, S108]', async () => {
    const body = schedule({
      campaignId: newId(),
      date: '2020-01-01T00:00:00Z',
      posts: [
        element(newId()),
        element(second, '', { settings: { firstComment: 5 } }),
        element(channel, 'x', { value: [{ content: 'x', image: [{ path: 'ftp://a.example/x.png' }] }] }),
      ],
    });
    const answer = await create(body);
    expect([answer.status, answer.body.code, fieldsOf(answer.body.errors)]).toEqual([
      400,
      'validation_failed',
      [
        'campaignId',
        'date',
        'posts.0.integration.id',
        'posts.1.settings.firstComment',
        'posts.1.value.0.content',
        'posts.2.value.0.image.0.path',
      ],
    ]);
    const judged = (await key.post('/public/v1/posts/preflight', body)).body as { issues: { field: string }[] }[];
    expect(new Set(judged.flatMap(({ issues }) => fieldsOf(issues)))).toEqual(new Set(fieldsOf(answer.body.errors)));
    const content = await create(schedule({ posts: [element(second, ''), element(newId())] }));
    expect(content.body).toMatchObject({ code: 'invalid_content', provider: 'fake', name: 'Second' });
    expect(fieldsOf(content.body.errors)).toEqual(['posts.0.value.0.content', 'posts.1.integration.id']);
  });

  test('invalid input in every field is 400 with its name, and nothing is written [S6]', async () => {
    const before = await rows();
    const base = schedule();
    const one = (more: object) => ({ ...base, posts: [{ ...element(channel), ...more }] });
    const value = (more: object) => one({ value: [{ content: 'x', ...more }] });
    const image = (more: object) => value({ image: [{ path: 'https://a.example/x.png', ...more }] });
    const cases: [string, object][] = [
      ['type', { ...base, type: undefined }],
      ['type', { ...base, type: 'later' }],
      ['type', { ...base, type: 1 }],
      ['date', { ...base, date: 'tomorrow' }],
      ['date', { ...base, date: '2026-02-30T10:00:00Z' }],
      ['date', { ...base, date: 5 }],
      ['date', { ...base, date: '' }],
      ['shortLink', { ...base, shortLink: 'yes' }],
      ['tags', { ...base, tags: 'a' }],
      ['tags.0', { ...base, tags: ['a'] }],
      ['tags.0', { ...base, tags: [{ value: '', label: '' }] }],
      ['tags.0.label', { ...base, tags: [{ label: 'x'.repeat(256) }] }],
      ['tags.0.color', { ...base, tags: [{ label: 'x', color: 'red' }] }],
      ['timezone', { ...base, timezone: 'Mars/Olympus' }],
      ['timezone', { ...base, timezone: '+02:00' }],
      ['timezone', { ...base, timezone: 5 }],
      ['timezone', { ...base, timezone: 'UTC'.padEnd(101, 'C') }],
      ['creationMethod', { ...base, creationMethod: 5 }],
      ['timezone', { ...base, timezone: 5 }],
      ['posts', { ...base, posts: undefined }],
      ['posts', { ...base, posts: [] }],
      ['posts', { ...base, posts: 'x' }],
      ['posts', { ...base, posts: Array.from({ length: 101 }, () => element(channel)) }],
      ['posts.0.integration', one({ integration: undefined })],
      ['posts.0.integration.id', one({ integration: {} })],
      ['posts.0.integration.id', one({ integration: { id: 5 } })],
      ['posts.0.group', one({ group: 'a b' })],
      ['posts.0.group', one({ group: 'x'.repeat(256) })],
      ['posts.0.settings', one({ settings: 'x' })],
      ['posts.0.settings', one({ settings: [] })],
      ['posts.0.type', one({ type: 5 })],
      ['posts.0.value', one({ value: undefined })],
      ['posts.0.value', one({ value: [] })],
      ['posts.0.value', one({ value: Array.from({ length: 101 }, () => ({ content: 'x' })) })],
      ['posts.0.value.0.content', value({ content: undefined })],
      ['posts.0.value.0.content', value({ content: 5 })],
      ['posts.0.value.0.content', value({ content: 'x'.repeat(100_001) })],
      ['posts.0.value.0.content', value({ content: 'a\0b' })],
      ['posts.0.value.0.delay', value({ delay: -1 })],
      ['posts.0.value.0.delay', value({ delay: 10_081 })],
      ['posts.0.value.0.delay', value({ delay: 'x' })],
      ['posts.0.value.0.delay', value({ delay: 1.5 })],
      ['posts.0.value.0.id', value({ id: 5 })],
      ['posts.0.value.0.image', value({ image: 'x' })],
      ['posts.0.value.0.image.0.path', image({ path: undefined })],
      ['posts.0.value.0.image.0.path', image({ path: 5 })],
      ['posts.0.value.0.image.0.path', image({ path: `https://a.example/${'x'.repeat(4_000)}` })],
      ['posts.0.value.0.image.0.alt', image({ alt: 5 })],
      ['posts.0.value.0.image.0.id', image({ id: 5 })],
    ];
    for (const [field, body] of cases) {
      const { status, body: answer } = await create(body);
      expect([field, status, answer.errors?.map((error: { field: string }) => error.field)]).toEqual([
        field,
        400,
        expect.arrayContaining([field]),
      ]);
    }
    expect(await rows()).toBe(before);
  });

  test('a repeated Idempotency-Key answers the same bytes and creates nothing; another body is 422 [S18]', async () => {
    const body = schedule();
    const first = await create(body, key, { 'idempotency-key': 'once' });
    const before = await rows();
    const again = await create(body, key, { 'idempotency-key': 'once' });
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true']);
    expect((await create(schedule({ tags: [{ label: 'x' }] }), key, { 'idempotency-key': 'once' })).body.code).toBe(
      'idempotency_mismatch',
    );
    expect(await rows()).toBe(before);
    const racing = await Promise.all(Array.from({ length: 8 }, () => create(body, key, { 'idempotency-key': 'race' })));
    expect(racing.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(1);
    expect(new Set(racing.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1);
    expect(racing.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect(await rows()).toBe(before + 1);
  });

  test('a post is read with its thread in order and without the root in it, from the console and the public API [S110, S257]', async () => {
    const value = ['one', 'two', 'three'].map((content) => ({ content }));
    const [{ postId }] = (await create({ ...schedule(), posts: [{ integration: { id: channel }, value }] })).body;
    for (const answer of [await ann.client.get(`/posts/${postId}`), await key.get(`/public/v1/posts/${postId}`)]) {
      const { id, content, group, thread } = answer.body;
      expect([id, content, thread.map((item: { content: string }) => item.content)]).toEqual([
        postId,
        'one',
        ['two', 'three'],
      ]);
      const whole = (await ann.client.get(`/posts/group/${group}`)).body;
      expect([whole.group, whole.posts.map((post: { content: string }) => post.content)]).toEqual([
        group,
        ['one', 'two', 'three'],
      ]);
    }
  });

  test('a body edits the posts that it names, whatever its type, and never those of others [S106, S263, S103]', async () => {
    const {
      body: [{ postId }],
    } = await create({
      ...schedule(),
      posts: [{ integration: { id: channel }, value: [{ content: 'one' }, { content: 'two', delay: 5 }] }],
    });
    const [two] = (await read(postId)).thread;
    const answer = await create({
      type: 'update',
      posts: [
        {
          integration: { id: channel },
          value: [{ content: 'new one', id: postId }, { content: 'new two', id: two.id }, { content: 'three' }],
        },
      ],
    });
    expect([answer.status, answer.body]).toEqual([201, [{ postId, integration: channel }]]);
    const post = await read(postId);
    expect(post).toMatchObject({ content: 'new one', version: 2, state: 'QUEUE' });
    expect(
      post.thread.map(({ id, content, parentPostId }: Record<string, string>) => [
        content,
        parentPostId === postId || parentPostId === two.id,
        content !== 'new two' || id === two.id,
      ]),
    ).toEqual([
      ['new two', true, true],
      ['three', true, true],
    ]);

    const unknown = await create({
      type: 'update',
      posts: [element(channel, 'x', { value: [{ content: 'x', id: newId() }] })],
    });
    expect([unknown.status, unknown.body.errors[0].field]).toEqual([400, 'posts.0.value.0.id']);
    const other = await eve.withKey();
    const theirs = (await create({ ...schedule(), posts: [element(foreign, 'theirs')] }, other)).body[0].postId;
    const mine = await made({
      ...schedule(),
      posts: [{ integration: { id: channel }, value: [{ content: 'mine', id: theirs }] }],
    });
    expect(mine).not.toBe(theirs);
    expect((await read(theirs, eve.client)).content).toBe('theirs');
    const moved = await create({
      type: 'draft',
      posts: [{ integration: { id: second }, value: [{ content: 'x', id: postId }] }],
    });
    expect([moved.status, moved.body.errors[0].field]).toEqual([400, 'posts.0.integration.id']);
  });
});

test('a refusal of an edit names the fields of every fault as well, and nothing of it is stored [S6]', async () => {
  const id = await made();
  const before = [await rows(), await db.sql`select name from tags order by name`];
  const answer = await key.put(`/public/v1/posts/${id}`, {
    publishDate: '2020-01-01T00:00:00Z',
    content: 'x'.repeat(101),
    settings: { firstComment: 5 },
    tags: [{ label: 'new here' }],
    campaignId: newId(),
    image: [{ path: 'ftp://a.example/x.png' }],
    thread: [{ content: 'y', image: [{ path: 'ftp://a.example/y.png' }] }],
  });
  expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
  expect(fieldsOf(answer.body.errors).toSorted()).toEqual([
    'campaignId',
    'content',
    'image.0.path',
    'publishDate',
    'settings.firstComment',
    'thread.0.image.0.path',
  ]);
  expect([await rows(), await db.sql`select name from tags order by name`]).toEqual(before);
});

test('a date is stored to the millisecond and answered in UTC, also of a post that goes out at once and in its timeline [S104, S117]', async () => {
  for (const body of [schedule(), { ...schedule(), type: 'now' }]) {
    const { id, publishDate } = await read(await made(body));
    const { items } = (await key.get(`/public/v1/posts/${id}/timeline`)).body;
    expect(items[0]).toMatchObject({ kind: 'created', data: { publishDate } });
    const { posts } = (await key.get(`/public/v1/posts?startDate=${publishDate}&endDate=${publishDate}`)).body;
    expect(posts.map((one: { id: string }) => one.id)).toContain(id);
  }
});

describe('POST /public/v1/posts with edits and new posts', () => {
  const contents = () =>
    db.sql`
      select id, state, content, publish_date, version, updated_at from posts where org_id = ${ann.orgId} order by id`;
  const told = () => db.sql`select count(*)::int as n, max(id) as last from post_timeline where org_id = ${ann.orgId}`;
  const edited = (id: string, content: string) => ({ integration: { id: channel }, value: [{ id, content }] });
  const both = (first: string, other: string) => ({
    ...schedule(),
    posts: [edited(first, '<p>Changed</p>'), element(second, '<p>New</p>'), edited(other, '<p>Changed too</p>')],
  });

  test('is one transaction: when one part is refused, nothing is stored', async () => {
    const first = await made();
    const out = await made({ ...schedule(), type: 'now' });
    await published(out);
    const before = [await contents(), await told()];
    const answer = await create(both(first, out), key, { 'idempotency-key': 'one act, refused' });
    expect([answer.status, answer.body.code]).toEqual([409, 'already_published']);
    expect([await contents(), await told()]).toEqual(before);
  });

  test('a post that is named twice is 400, and keeps its content [S106]', async () => {
    const id = await made();
    for (const body of [schedule(), { type: 'update' }]) {
      const answer = await create({ ...body, posts: [edited(id, 'one'), edited(id, 'two')] });
      expect([answer.status, answer.body.errors]).toMatchObject([
        400,
        [{ field: 'posts.1.value.0.id', rule: 'duplicate' }],
      ]);
    }
    expect(await read(id)).toMatchObject({ content: '<p>Hi</p>', version: 1 });
  });

  test('stores edits and new posts together, and repeats its answer under its key', async () => {
    const [first, other] = [await made(), await made()];
    const headers = { 'idempotency-key': 'one act, accepted' };
    const body = both(first, other);
    const answer = await create(body, key, headers);
    expect([answer.status, answer.body.map(({ postId }: { postId: string }) => postId)]).toEqual([
      201,
      [first, expect.any(String), other],
    ]);
    expect(await read(first)).toMatchObject({ content: '<p>Changed</p>', version: 2 });
    expect(await read(answer.body[1].postId)).toMatchObject({ content: '<p>New</p>', state: 'QUEUE' });
    expect((await create(body, key, headers)).body).toEqual(answer.body);
    expect(await read(other)).toMatchObject({ content: '<p>Changed too</p>', version: 2 });
  });

  test('stores no edit where its new posts cannot be stored, also when the channel is deleted meanwhile', async () => {
    const first = await made();
    const before = [await contents(), await told()];
    const [outcome] = await world.posts.admitPosts(ann.orgId, [
      {
        posts: [newPost(foreign)],
        edits: [{ postId: first, change: { content: '<p>Changed</p>' } }],
        createdBy: ann.userId,
      },
    ]);
    expect(outcome!.refused).toMatchObject({ code: 'invalid_request' });
    expect([await contents(), await told()]).toEqual(before);
  });

  test('does not deadlock with concurrent bodies on the same channels', async () => {
    const [here, there] = [await made(), await made({ ...schedule(), posts: [element(second)] })];
    const crossing = Array.from({ length: 10 }, (_, n) => [
      {
        posts: [newPost(second, { publishDate: new Date(later()) })],
        edits: [{ postId: here, change: { content: `<p>${n}</p>` } }],
        createdBy: ann.userId,
      },
      {
        posts: [newPost(channel, { publishDate: new Date(later()) })],
        edits: [{ postId: there, change: { content: `<p>${n}</p>` } }],
        createdBy: ann.userId,
      },
    ]).flat();
    const outcomes = await Promise.all(crossing.map((body) => world.posts.admitPosts(ann.orgId, [body])));
    expect(outcomes.flat().filter(({ refused, stale }) => refused !== undefined || stale)).toEqual([]);
    expect([(await read(here)).version, (await read(there)).version]).toEqual([11, 11]);
  });
});

test('editing by create requires the permission to update, as reading and creating require their own', async () => {
  const id = await made();
  const bob = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'viewer')`;
  const viewer = bob.client;
  viewer.headers = { showorg: ann.orgId };
  expect((await viewer.get(`/posts/${id}`)).status).toBe(200);
  for (const answer of [
    await viewer.post('/posts', schedule()),
    await viewer.put(`/posts/${id}`, {}),
    await viewer.delete(`/posts/${id}`),
    await viewer.put(`/posts/${id}/status`, { status: 'draft' }),
  ])
    expect(answer.status).toBe(403);
});
