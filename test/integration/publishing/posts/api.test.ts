// oxlint-disable max-lines -- one product serves all routes of posts
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { type Answer } from '../../../support/worlds/app.ts';
import { channelActorOf } from '../../../support/worlds/publishing/world.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { settles } from '../../../support/wire/settles.ts';

const HOUR = 3_600_000;
const routes = await openPostRoutes();
const { db, world, network, ann, eve, key, channel, second, foreign } = routes;
const { connect, schedule, create, made, read, published } = routes;
afterAll(routes.close);
beforeEach(() => {
  network.behave = undefined;
});

describe('reading posts', () => {
  test('the public list has exactly the specified keys, with settings as text [T8, T11, T18, S111]', async () => {
    const id = await made(schedule({ posts: [element(channel, '<p>listed</p>', { settings: { a: 1 } })] }));
    for (const query of [
      '',
      `?startDate=${later(-HOUR)}&endDate=${later(2 * HOUR)}&display=week&bogus=1`,
      `?startDate=${later(-HOUR).slice(0, 10)}`,
    ]) {
      const { status, body } = await key.get(`/public/v1/posts${query}`);
      expect(status).toBe(200);
      const post = body.posts.find((one: { id: string }) => one.id === id);
      expect(Object.keys(post)).toEqual([
        'id',
        'content',
        'publishDate',
        'releaseURL',
        'releaseId',
        'state',
        'detail',
        'intervalInDays',
        'group',
        'creationMethod',
        'settings',
        'tags',
        'integration',
      ]);
      expect([post.settings, post.integration]).toEqual([
        '{"a":1,"__type":"fake"}',
        { id: channel, providerIdentifier: 'fake', name: 'First', picture: null },
      ]);
    }
    expect((await key.get('/public/v1/posts?customer=unknown')).body).toEqual({ posts: [] });
    for (const query of ['?startDate=yesterday', '?endDate=2026-13-01', '?startDate=2020-01-01&endDate=2026-01-01'])
      expect((await key.get(`/public/v1/posts${query}`)).status).toBe(400);
    expect((await ann.client.get('/posts')).body.posts.find((one: { id: string }) => one.id === id).settings).toEqual({
      a: 1,
      __type: 'fake',
    });
  });

  test('the state of a post is one of four words, in the store and in each description of it [S100]', async () => {
    const id = await made();
    await expect(db.sql`update posts set state = 'SENT' where id = ${id}`).rejects.toMatchObject({ code: '23514' });
    const described: string[][] = [];
    JSON.stringify((await key.get('/openapi.json')).body, (name, value) => {
      if (name === 'enum' && Array.isArray(value) && value.includes('QUEUE')) described.push(value);
      return value as unknown;
    });
    expect(described.length).toBeGreaterThan(3);
    for (const words of described) expect(words.toSorted()).toEqual(['DRAFT', 'ERROR', 'PUBLISHED', 'QUEUE']);
  });

  test('a single post equals its list item and adds the specified extras [T16]', async () => {
    const id = await made({
      ...schedule(),
      posts: [{ integration: { id: channel }, value: [{ content: 'one' }, { content: 'two' }] }],
    });
    const item = (await key.get('/public/v1/posts')).body.posts.find((one: { id: string }) => one.id === id);
    const { status, body } = await key.get(`/public/v1/posts/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...item, error: null, errorKind: null, version: 1, organizationId: ann.orgId });
    expect(body.thread).toMatchObject([{ content: 'two', error: null, errorKind: null }]);
    expect(
      (await key.get('/public/v1/posts')).body.posts.some(({ content }: { content: string }) => content === 'two'),
    ).toBe(false);
  });

  test('pages are numbered from 0', async () => {
    for (let n = 0; n < 3; n += 1) await made();
    const all = (await ann.client.get('/posts/list?limit=2&state=scheduled')).body;
    expect(all).toMatchObject({ page: 0, limit: 2, hasMore: true });
    const next = (await ann.client.get('/posts/list?limit=2&page=1&state=scheduled')).body;
    expect(next.posts[0].id).not.toBe(all.posts[0].id);
    expect((await ann.client.get('/posts/list?page=1000')).body).toMatchObject({ posts: [], hasMore: false });
    for (const [query, field] of [
      ['state=bogus', 'state'],
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['page=-1', 'page'],
    ]) {
      const { status, body } = await ann.client.get(`/posts/list?${query}`);
      expect([status, body.errors?.[0]?.field]).toEqual([400, field]);
    }
  });

  test('the timeline lists the events of a post [S117]', async () => {
    const id = await made(schedule({ type: 'now' }));
    await published(id);
    const { body } = await key.get(`/public/v1/posts/${id}/timeline`);
    expect([body.postId, body.items.map(({ kind }: { kind: string }) => kind)]).toEqual([
      id,
      ['created', 'claimed', 'published'],
    ]);
    expect(await read(id)).toMatchObject({
      state: 'PUBLISHED',
      releaseId: `r-${id}`,
      releaseURL: `https://fake.example/${id}`,
      latenessMs: expect.any(Number),
    });
  });

  test('the next free slot is a posting time of the channel without a post', async () => {
    const slotted = await connect(ann.orgId, 'Slots');
    await db.sql`update channels set posting_times = '{600, 1200}' where id = ${slotted}`;
    const { body } = await key.get(`/public/v1/find-slot/${slotted}`);
    expect(body.date).toMatch(/^\d{4}-\d{2}-\d{2}T(10|20):00:00$/);
    await made({ ...schedule({ date: `${body.date}Z` }), posts: [element(slotted)] });
    expect((await ann.client.get(`/posts/find-slot/${slotted}`)).body.date > body.date).toBe(true);
    expect((await key.get('/public/v1/find-slot')).status).toBe(200);
    for (const id of [newId(), foreign, 'x']) expect((await key.get(`/public/v1/find-slot/${id}`)).status).toBe(404);
  });

  test('there is no free slot without posting times, and other channels keep theirs [S119, S138]', async () => {
    const other = await connect(ann.orgId, 'Without');
    expect((await ann.client.post(`/integrations/${other}/time`, { time: [] })).status).toBe(200);
    expect((await key.get(`/public/v1/find-slot/${other}`)).body).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('posting times'),
    });
    expect((await key.get('/public/v1/find-slot')).status).toBe(200);
  });

  test('over all channels the usual posting times are those of the zone, where no channel can be posted to [S138]', async () => {
    await db.sql`update organizations set timezone = 'Asia/Kathmandu' where id = ${eve.orgId}`; // 5 h 45 min ahead
    const allowed = (disabled: boolean) =>
      db.sql`update channels set posting_times = '{600}', disabled = ${disabled} where org_id = ${eve.orgId}`;
    const slot = async () => (await eve.client.get('/posts/find-slot')).body.date as string;
    await allowed(true);
    expect(await slot()).toMatch(/T(20:15|00:55|05:55):00$/); // 02:00, 06:40 and 11:40 there
    await allowed(false);
    expect(await slot()).toMatch(/T04:15:00$/);
    await db.sql`update organizations set timezone = 'UTC' where id = ${eve.orgId}`;
  });
});

describe('changing posts', () => {
  test('PUT replaces settings, PATCH and the settings route merge; a stale version is refused [S109, S115]', async () => {
    const id = await made(schedule({ posts: [element(channel, 'x', { settings: { a: 1, b: 2 } })] }));
    expect(
      (
        await ann.client.send('PATCH', `/posts/${id}`, {
          settings: { b: 3 },
          content: '<p>patched</p>',
          title: 'T',
          tags: [{ label: 'beta' }],
        })
      ).body,
    ).toMatchObject({
      settings: { a: 1, b: 3 },
      content: '<p>patched</p>',
      title: 'T',
      version: 2,
      tags: [{ tag: { name: 'beta' } }],
    });
    expect((await ann.client.put(`/posts/${id}`, { settings: { c: 4 } })).body).toMatchObject({
      settings: { c: 4, __type: 'fake' },
      content: '<p>patched</p>',
      version: 3,
    });
    expect((await key.put(`/public/v1/posts/${id}/settings`, { settings: { d: 5 } })).body).toEqual({
      postId: id,
      publishDate: expect.any(String),
    });
    expect((await read(id)).settings).toEqual({ __type: 'fake', c: 4, d: 5 });
    const stale = await ann.client.put(`/posts/${id}`, { content: 'y' }, { 'if-match': '"3"' });
    expect([stale.status, stale.body.code]).toEqual([409, 'conflict']);
    expect((await ann.client.put(`/posts/${id}`, { content: 'y' }, { 'if-match': '"4"' })).status).toBe(200);
    expect((await ann.client.put(`/posts/${id}`, { content: 'y' }, { 'if-match': 'x' })).status).toBe(400);
    const refused = await ann.client.put(`/posts/${id}`, { content: 'x'.repeat(101) });
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_content']);
  });

  test('settings given for the first item are those of its whole thread, those of a later item its own [S109, S115]', async () => {
    const value = [{ content: 'one' }, { content: 'two' }, { content: 'three' }];
    const id = await made(schedule({ posts: [element(channel, '', { value, settings: { a: 1 } })] }));
    const two = (await read(id)).thread[0].id;
    await db.sql`update posts set saved = '{"value":"upload-1"}' where id = ${id} or root_post_id = ${id}`;
    const shown = async () => {
      const { thread, ...first } = await read(id);
      return [first, ...thread].map(({ settings: { __type, ...own } }) => own);
    };
    await key.put(`/public/v1/posts/${two}/settings`, { settings: { b: 2 } });
    expect(await shown()).toEqual([{ a: 1 }, { a: 1, b: 2 }, { a: 1 }]);
    await key.put(`/public/v1/posts/${id}/settings`, { settings: { a: 3 } });
    expect(await shown()).toEqual([{ a: 3 }, { a: 3, b: 2 }, { a: 3 }]);
    expect(await db.sql`select saved from posts where id = ${id} or root_post_id = ${id}`).toEqual(
      value.map(() => ({ saved: null })),
    );
    await ann.client.put(`/posts/${id}`, { settings: { c: 4 } });
    expect(await shown()).toEqual(value.map(() => ({ c: 4 })));
  });

  test('a new date moves a post; by default it schedules a draft, with `update` the draft stays one [S113]', async () => {
    const draft = await made(schedule({ type: 'draft' }));
    const date = later(5 * HOUR);
    expect((await ann.client.put(`/posts/${draft}/date`, { date, action: 'update' })).body).toEqual({
      id: draft,
      publishDate: date,
      state: 'DRAFT',
    });
    expect((await ann.client.put(`/posts/${draft}/date`, { date })).body).toEqual({
      id: draft,
      publishDate: date,
      state: 'QUEUE',
    });
    expect((await ann.client.put(`/posts/${draft}/date`, { date: later(-30 * HOUR) })).body.code).toBe('date_in_past');
    expect((await ann.client.put(`/posts/${draft}/date`, { date: 'x' })).body.errors[0].field).toBe('date');
    expect(await read(draft)).toMatchObject({ publishDate: date, detail: 'scheduled' });
  });

  test('a post can change between draft and scheduled, and its content is checked when it is scheduled [S114]', async () => {
    const id = await made();
    expect((await key.put(`/public/v1/posts/${id}/status`, { status: 'draft' })).body).toEqual({ id, state: 'DRAFT' });
    expect(await read(id)).toMatchObject({ state: 'DRAFT', detail: 'cancelled' });
    expect((await ann.client.put(`/posts/${id}/status`, { status: 'schedule' })).body).toEqual({ id, state: 'QUEUE' });
    const long = await made(schedule({ type: 'draft', posts: [element(channel, 'x'.repeat(200))] }));
    expect((await ann.client.put(`/posts/${long}/status`, { status: 'schedule' })).body.code).toBe('invalid_content');
    expect((await ann.client.put(`/posts/${long}/date`, { date: later() })).body.code).toBe('invalid_content');
    const old = await made(schedule({ type: 'draft', date: '2020-01-01' }));
    const refused = (await ann.client.put(`/posts/${old}/status`, { status: 'schedule' })).body;
    expect([refused.code, refused.errors]).toEqual([
      'date_in_past',
      [{ field: 'status', message: expect.stringContaining('publishDate'), rule: 'date' }],
    ]);
    await ann.client.send('PATCH', `/posts/${old}`, { publishDate: later() });
    expect((await ann.client.put(`/posts/${old}/status`, { status: 'schedule' })).body.state).toBe('QUEUE');
    expect((await ann.client.put(`/posts/${id}/status`, { status: 'bogus' })).status).toBe(400);
  });

  test('a thread is replaced whole, and moves with its root', async () => {
    const id = await made({
      ...schedule(),
      posts: [{ integration: { id: channel }, value: [{ content: 'one' }, { content: 'two' }, { content: 'three' }] }],
    });
    const [two, three] = (await read(id)).thread;
    const date = later(9 * HOUR);
    const { status, body } = await ann.client.put(`/posts/${id}`, {
      publishDate: date,
      thread: [{ id: three.id, content: 'three first', image: [], delay: 2 }, { content: 'new' }],
    });
    expect(status).toBe(200);
    expect(
      body.thread.map(({ content, publishDate, delay }: Record<string, unknown>) => [content, publishDate, delay]),
    ).toEqual([
      ['three first', date, 2],
      ['new', date, 0],
    ]);
    expect([body.thread[0].id, body.thread[0].parentPostId, body.thread[1].parentPostId]).toEqual([
      three.id,
      id,
      three.id,
    ]);
    expect((await ann.client.get(`/posts/${two.id}`)).status).toBe(404);
    expect((await ann.client.put(`/posts/${three.id}`, { thread: [] })).status).toBe(400);
  });

  test('an id that stands twice in a thread is that of the first item with it; others are new [S106]', async () => {
    const id = await made({
      ...schedule(),
      posts: [{ integration: { id: channel }, value: [{ content: 'one' }, { content: 'two' }] }],
    });
    const [two] = (await read(id)).thread;
    const twice = ['a', 'b'].map((content) => ({ id: two.id, content }));
    const shown = async () =>
      (await read(id)).thread.map((item: { id: string; content: string }) => [item.content, item.id === two.id]);
    const edited = await ann.client.put(`/posts/${id}`, { thread: twice });
    expect([edited.status, await shown()]).toEqual([
      200,
      [
        ['a', true],
        ['b', false],
      ],
    ]);
    const body = { type: 'update', posts: [element(channel, '', { value: [{ id, content: 'root' }, ...twice] })] };
    const created = await create(body);
    expect([created.status, await shown()]).toEqual([
      201,
      [
        ['a', true],
        ['b', false],
      ],
    ]);
  });

  test('an empty group in an edit is none: the post keeps its own [S105, T4]', async () => {
    const id = await made();
    const { group } = await read(id);
    expect(group).not.toBe('');
    for (const method of ['PUT', 'PATCH'])
      for (const none of ['', null])
        expect((await ann.client.send(method, `/posts/${id}`, { group: none })).body).toMatchObject({ group });
  });

  test('a published post cannot be changed [S109, S114]', async () => {
    const id = await made(schedule({ type: 'now' }));
    await published(id);
    const answers = await Promise.all([
      ann.client.put(`/posts/${id}`, { content: 'y' }),
      ann.client.put(`/posts/${id}/date`, { date: later() }),
      ann.client.put(`/posts/${id}/status`, { status: 'draft' }),
      ann.client.put(`/posts/${id}/release-id`, { releaseId: 'x' }),
      create({ type: 'update', posts: [{ integration: { id: channel }, value: [{ content: 'y', id }] }] }),
    ]);
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [409, 'already_published']),
    );
    expect((await ann.client.post(`/posts/${id}/retry`, {})).body.code).toBe('conflict');
    expect((await ann.client.get(`/posts/${id}/missing`)).body).toEqual([]);
    expect((await ann.client.delete(`/posts/${id}`)).status).toBe(200); // from the service only
  });

  test('a post in flight can neither be edited nor deleted', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = await connect(ann.orgId, 'Slow');
    network.behave = async (_post, { channelId }, accept) => {
      if (channelId === slow) await gate;
      return accept();
    };
    const {
      body: [{ postId: id }],
    } = await create({ ...schedule({ type: 'now' }), posts: [element(slow, 'x', { group: 'flying' })] });
    await settles(async () => expect(await read(id)).toMatchObject({ detail: 'publishing' }));
    const answers: Answer[] = [
      await ann.client.put(`/posts/${id}`, { content: 'y' }),
      await ann.client.put(`/posts/${id}/date`, { date: later() }),
      await ann.client.put(`/posts/${id}/status`, { status: 'draft' }),
      await ann.client.delete(`/posts/${id}`),
      await ann.client.delete('/posts/group/flying'),
      await ann.client.put(`/posts/${id}/release-id`, { releaseId: 'x' }),
    ];
    go();
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(answers.map(() => [409, 'conflict']));
    await published(id);
    expect(network.taken.filter(({ postId }) => postId === id)).toHaveLength(1);
  });

  test('a failed post can be retried by hand, and no other [S118]', async () => {
    const id = await made();
    await db.sql`
      update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'no' where id = ${id}`;
    const { status, body } = await key.post(`/public/v1/posts/${id}/retry`, {});
    expect([status, body.state]).toEqual([201, 'QUEUE']);
    await published(id);
    expect(await read(id)).toMatchObject({ state: 'PUBLISHED', error: null, errorKind: null });
    expect((await key.post(`/public/v1/posts/${await made()}/retry`, {})).status).toBe(409);
  });

  test('an unknown release of a post can be set [S118, S258]', async () => {
    const id = await made();
    expect((await key.put(`/public/v1/posts/${id}/release-id`, { releaseId: 'x' })).status).toBe(409);
    await db.sql`
      update posts
      set state = 'ERROR', detail = 'unconfirmed', error_kind = 'unconfirmed', attempt = 1, incarnation = 'gone',
        claimed_at = now()
      where id = ${id}`;
    network.taken.push({ channelId: channel, postId: id, text: '' });
    expect((await key.get(`/public/v1/posts/${id}/missing`)).body).toEqual([
      { id: `r-${id}`, url: `https://fake.example/${id}` },
    ]);
    expect((await key.put(`/public/v1/posts/${id}/release-id`, { releaseId: '' })).status).toBe(400);
    expect((await key.put(`/public/v1/posts/${id}/release-id`, { releaseId: 'abc' })).body).toEqual({
      id,
      releaseId: 'abc',
    });
    expect(await read(id)).toMatchObject({ state: 'PUBLISHED', releaseId: 'abc' });
  });
});

describe('deleting posts', () => {
  test('a post is deleted with its thread and never published [S112]', async () => {
    const {
      body: [{ postId: id }],
    } = await create({
      ...schedule(),
      posts: [{ integration: { id: channel }, value: [{ content: 'never' }, { content: 'never either' }] }],
    });
    const { status, body } = await key.delete(`/public/v1/posts/${id}`);
    expect([status, body]).toEqual([200, { id }]);
    expect((await key.get(`/public/v1/posts/${id}`)).status).toBe(404);
    expect((await key.delete(`/public/v1/posts/${id}`)).status).toBe(404);
    await db.sql`update posts set publish_date = now(), due_at = now() where id = ${id}`; // its time comes
    await channelActorOf(world, ann.orgId, channel).wake({});
    await published(await made(schedule({ type: 'now' })));
    expect(network.taken.some(({ postId }) => postId === id)).toBe(false);
    expect(
      await db.sql`
        select count(*)::int as n from posts where (id = ${id} or root_post_id = ${id}) and deleted_at is null`,
    ).toEqual([{ n: 0 }]);
  });

  test('each post of a body begins a group of its own, unless the body names one; items share that of their first [S105]', async () => {
    const value = [{ content: 'one' }, { content: 'two' }];
    const groupsOf = async (group?: string) => {
      const posts = [channel, second].map((id) => ({ integration: { id }, value, ...(group && { group }) }));
      const answer = await create({ ...schedule(), posts });
      const ids: string[] = answer.body.map(({ postId }: { postId: string }) => postId);
      const shown = await Promise.all(ids.map((id) => read(id)));
      for (const post of shown)
        expect(post.thread).toEqual([expect.objectContaining({ group: post.group, parentPostId: post.id })]);
      return shown.map((post) => post.group as string);
    };
    expect(new Set([...(await groupsOf()), ...(await groupsOf(''))]).size).toBe(4);
    expect(await groupsOf('kept')).toEqual(['kept', 'kept']);
    const theirs = await eve.client.post('/posts', schedule({ posts: [element(foreign, 'x', { group: 'kept' })] }));
    expect(theirs.status).toBe(201);
    expect((await ann.client.get('/posts/group/kept')).body.posts).toHaveLength(4);
  });

  test('a group is deleted by its own route and by its name [S112]', async () => {
    await create({
      ...schedule(),
      posts: [element(channel, 'x', { group: 'goes' }), element(second, 'x', { group: 'goes' })],
    });
    expect((await ann.client.get('/posts/group/goes')).body).toMatchObject({ group: 'goes', posts: [{}, {}] });
    const { status, body } = await ann.client.delete('/posts/group/goes');
    expect([status, body]).toEqual([200, { id: 'goes', deleted: 2 }]);
    await create({ ...schedule(), posts: [element(channel, 'x', { group: 'goes-too' })] });
    expect((await key.delete('/public/v1/posts/group/goes-too')).body).toEqual({ id: 'goes-too' });
    await create({ ...schedule(), posts: [element(channel, 'x', { group: 'by-name' })] });
    expect((await key.delete('/public/v1/posts/by-name')).body).toEqual({ id: 'by-name' });
    for (const path of ['/public/v1/posts/goes', '/public/v1/posts/group/goes', `/public/v1/posts/${newId()}`])
      expect((await key.delete(path)).status).toBe(404);
  });
});

test('a post of another organization is not found on any route [S9, GN2]', async () => {
  const id = await made(schedule({ posts: [element(channel, 'mine', { group: 'my-group' })] }));
  const before = await db.sql`select * from posts where id = ${id}`;
  const other = await eve.withKey();
  const answers: Answer[] = await Promise.all([
    eve.client.get(`/posts/${id}`),
    eve.client.put(`/posts/${id}`, { content: 'y' }),
    eve.client.send('PATCH', `/posts/${id}`, { content: 'y' }),
    eve.client.put(`/posts/${id}/date`, { date: later() }),
    eve.client.put(`/posts/${id}/status`, { status: 'draft' }),
    eve.client.put(`/posts/${id}/settings`, { settings: {} }),
    eve.client.get(`/posts/${id}/timeline`),
    eve.client.post(`/posts/${id}/retry`, {}),
    eve.client.get(`/posts/${id}/missing`),
    eve.client.put(`/posts/${id}/release-id`, { releaseId: 'x' }),
    eve.client.get('/posts/group/my-group'),
    eve.client.delete('/posts/group/my-group'),
    eve.client.delete(`/posts/${id}`),
    other.get(`/public/v1/posts/${id}`),
    other.delete(`/public/v1/posts/${id}`),
    other.delete('/public/v1/posts/group/my-group'),
    other.get(`/public/v1/posts/${newId()}`),
    other.get('/public/v1/posts/not-an-id'),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  expect(await db.sql`select * from posts where id = ${id}`).toEqual(before);
  expect((await other.get('/public/v1/posts')).text).not.toContain(id);
});
