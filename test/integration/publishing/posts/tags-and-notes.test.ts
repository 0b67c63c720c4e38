import { afterAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { dropDeletedPosts } from '../../../../src/publishing/posts/retention.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

const HOUR = 3_600_000;
const routes = await openPostRoutes();
const { db, app, ann, eve, key, channel, schedule, create, made, read, published } = routes;
afterAll(routes.close);

async function memberOf(role: string) {
  const bob = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, ${role})`;
  bob.client.headers = { showorg: ann.orgId };
  return bob;
}

describe('tags', () => {
  const add = (body: object, client = ann.client) => client.post('/posts/tags', body);

  test('are made, listed, changed and deleted; posts show them as they are now [S187]', async () => {
    const { status, body: tag } = await add({ name: ' Beta ', color: '#00ff00' });
    expect([status, tag]).toEqual([201, { id: expect.any(String), name: 'Beta', color: '#00ff00' }]);
    expect((await add({ name: 'alpha' })).body.color).toBe('#612AD5');
    const { body: list } = await ann.client.get('/posts/tags');
    expect(list.tags.map(({ name }: { name: string }) => name)).toEqual(['alpha', 'Beta']);
    const id = await made(schedule({ tags: [{ value: 'beta', label: 'BETA' }] }));
    expect((await read(id)).tags).toEqual([{ tag }]);
    const changed = await ann.client.put(`/posts/tags/${tag.id}`, { name: 'Gamma' });
    expect([changed.status, changed.body]).toEqual([200, { ...tag, name: 'Gamma' }]);
    expect((await read(id)).tags).toEqual([{ tag: changed.body }]);
    expect((await ann.client.put(`/posts/tags/${tag.id}`, { color: '#123' })).body.color).toBe('#123');
    expect((await ann.client.delete(`/posts/tags/${tag.id}`)).body).toEqual({ id: tag.id });
    expect((await read(id)).tags).toEqual([]);
    expect((await ann.client.delete(`/posts/tags/${tag.id}`)).status).toBe(404);
  });

  test('are the same for the public API [S187]', async () => {
    const { status, body: tag } = await key.post('/public/v1/tags', { name: 'Public' });
    expect(status).toBe(201);
    const { body } = await key.get('/public/v1/tags');
    expect(body).toEqual((await ann.client.get('/posts/tags')).body);
    expect(body.tags).toContainEqual(tag);
    expect((await key.post('/public/v1/tags', { name: 'PUBLIC' })).status).toBe(409);
  });

  test('have one name each in an organization, whatever its case [S187]', async () => {
    const first = (await add({ name: 'Unique' })).body;
    const other = (await add({ name: 'Other' })).body;
    const taken = await add({ name: 'uNIQUE' });
    expect([taken.status, taken.body.code, taken.body.errors[0].field]).toEqual([409, 'conflict', 'name']);
    expect((await ann.client.put(`/posts/tags/${other.id}`, { name: 'UNIQUE' })).status).toBe(409);
    expect((await ann.client.put(`/posts/tags/${first.id}`, { name: 'UNIQUE' })).body.name).toBe('UNIQUE');
    expect((await add({ name: 'Unique' }, eve.client)).status).toBe(201);
    expect([(await add({ name: 'Ärger' })).status, (await add({ name: 'ÄRGER' })).status]).toEqual([201, 409]);
  });

  test('that a post brings are made from label, else value, and never twice [S261, S187]', async () => {
    const tags = [{ value: 'v1', label: 'Label 1' }, { value: 'v2' }, { value: 'x', label: 'label 1' }];
    const id = await made(schedule({ tags }));
    await made(schedule({ tags: [{ label: 'V2' }] }));
    expect((await read(id)).tags.map(({ tag }: { tag: { name: string } }) => tag.name)).toEqual(['Label 1', 'v2']);
    const named = (await ann.client.get('/posts/tags')).body.tags.filter(({ name }: { name: string }) =>
      ['label 1', 'v2'].includes(name.toLowerCase()),
    );
    expect(named).toHaveLength(2);
    // names that only some would call the same
    const odd = await made(schedule({ tags: [{ label: 'ΣΑΣ' }, { label: 'σασ' }, { label: 'σας' }] }));
    expect((await read(odd)).tags.length).toBeGreaterThanOrEqual(1);
  });

  test('refuse what is no name and no color, and belong to their organization [S187, GN2]', async () => {
    for (const [field, body] of [
      ['name', {}],
      ['name', { name: ' ' }],
      ['name', { name: 5 }],
      ['name', { name: 'x'.repeat(256) }],
      ['color', { name: 'x', color: 'red' }],
      ['color', { name: 'x', color: '#12345' }],
      ['bogus', { name: 'x', bogus: 1 }],
    ] as const) {
      const answer = await add(body);
      expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    }
    const hers = (await add({ name: 'Hers' }, eve.client)).body;
    for (const id of [hers.id, newId(), 'no-id']) {
      expect((await ann.client.put(`/posts/tags/${id}`, { name: 'x' })).status).toBe(404);
      expect((await ann.client.delete(`/posts/tags/${id}`)).status).toBe(404);
    }
    expect((await eve.client.get('/posts/tags')).body.tags).toContainEqual(hers);
  });

  test('are governed by campaigns: a member changes only own ones and deletes none [S54]', async () => {
    const { client: member } = await memberOf('member');
    const { client: viewer } = await memberOf('viewer');
    const theirs = (await add({ name: 'Of the owner' })).body;
    const own = (await add({ name: 'Of the member' }, member)).body;
    expect((await member.put(`/posts/tags/${theirs.id}`, { color: '#fff' })).status).toBe(403);
    expect((await member.put(`/posts/tags/${own.id}`, { color: '#fff' })).status).toBe(200);
    expect((await member.delete(`/posts/tags/${own.id}`)).status).toBe(403);
    expect((await viewer.get('/posts/tags')).status).toBe(200);
    expect((await add({ name: 'x' }, viewer)).status).toBe(403);
  });
});

describe('review notes', () => {
  const note = (id: string, content: unknown, client = ann.client) => client.post(`/posts/${id}/comments`, { content });

  test('are listed with who wrote them, oldest first, and written by who may change the post [S122, S54]', async () => {
    const id = await made();
    expect((await ann.client.get(`/posts/${id}/comments`)).body).toEqual([]);
    const editor = await memberOf('editor');
    const first = await note(id, 'Please <b>shorten</b> this');
    expect(first.status).toBe(201);
    const { body } = await note(id, 'Done', editor.client);
    expect(body).toEqual([
      {
        id: expect.any(String),
        content: 'Please <b>shorten</b> this',
        userId: ann.userId,
        name: expect.any(String),
        createdAt: expect.stringMatching(/Z$/),
      },
      expect.objectContaining({ content: 'Done', userId: editor.userId }),
    ]);
    const viewer = await memberOf('viewer');
    expect((await viewer.client.get(`/posts/${id}/comments`)).body).toEqual(body);
    const member = await memberOf('member'); // changes own posts only
    for (const { client } of [viewer, member]) expect((await note(id, 'x', client)).status).toBe(403);
    for (const unknown of [id, newId(), 'no-id']) {
      expect((await eve.client.get(`/posts/${unknown}/comments`)).status).toBe(404);
      expect((await note(unknown, 'x', eve.client)).status).toBe(404);
    }
    expect((await read(id)).version).toBe(1);
  });

  test('are bounded in length and number [S122]', async () => {
    const id = await made();
    for (const content of [undefined, 5, '', ' ', 'x'.repeat(10_001), 'a\0b'])
      expect((await note(id, content)).body.errors[0].field).toBe('content');
    await db.sql`
      insert into post_notes (id, org_id, post_id, user_id, content)
      select gen_random_uuid(), ${ann.orgId}, ${id}, ${ann.userId}, 'x' from generate_series(1, 499)`;
    expect((await note(id, 'the last')).status).toBe(201);
    expect((await note(id, 'one more')).status).toBe(409);
  });

  test('are not more than that where two are written at once [S122]', async () => {
    const id = await made();
    await db.sql`
      insert into post_notes (id, org_id, post_id, user_id, content)
      select gen_random_uuid(), ${ann.orgId}, ${id}, ${ann.userId}, 'x' from generate_series(1, 499)`;
    const written: Promise<{ status: number }>[] = [];
    await db.sql.begin(async (tx) => {
      await tx`select from posts where id = ${id} for update`; // a note whose rows are counted waits for its post
      written.push(note(id, 'one'), note(id, 'another'));
      await eventually('both wait', async () => (await waitingOnLock(db.sql)) === 2);
    });
    expect((await Promise.all(written)).map(({ status }) => status).toSorted()).toEqual([201, 409]);
    expect(await db.sql`select from post_notes where post_id = ${id}`).toHaveLength(500);
  });

  test('stay with an item whose thread is replaced, as do its timeline and its versions [S122, S109, S117]', async () => {
    const value = ['one', 'two', 'three'].map((content) => ({ content }));
    const id = await made(schedule({ posts: [{ integration: { id: channel }, value }] }));
    const [two, three] = (await read(id)).thread;
    const comments = `/posts/${three.id}/comments`;
    await ann.client.post(comments, { content: 'A typo' });
    const thread = [{ id: three.id, content: 'three, mended' }, { content: 'new' }];
    expect((await ann.client.put(`/posts/${id}`, { thread })).status).toBe(200);
    const update = (items: object[]) => ({
      type: 'update',
      posts: [{ integration: { id: channel }, value: [{ id, content: 'one' }, ...items] }],
    });
    expect((await create(update([{ content: 'first' }, { id: three.id, content: 'last' }]))).status).toBe(201);
    const shown = await read(id);
    const [first, last] = shown.thread;
    expect([first.content, last]).toEqual([
      'first',
      { ...three, content: 'last', parentPostId: first.id, version: expect.any(Number), updatedAt: last.updatedAt },
    ]);
    expect((await ann.client.get(comments)).body).toMatchObject([{ content: 'A typo' }]);
    expect((await ann.client.get(`/posts/${three.id}/timeline`)).body.items[0]).toMatchObject({ kind: 'created' });
    expect((await ann.client.get(`/posts/${first.id}/timeline`)).body.items).toMatchObject([
      { kind: 'created', data: { publishDate: shown.publishDate } },
    ]);
    expect((await ann.client.get(`/posts/${two.id}`)).status).toBe(404);
    const stale = await ann.client.send('PATCH', `/posts/${three.id}`, { content: 'x' }, { 'if-match': '"1"' });
    expect(stale.status).toBe(409);
  });

  test('go with their post, and stay under a deleted user when their writer goes [S122]', async () => {
    const id = await made();
    const bob = await memberOf('editor');
    await note(id, 'from Bob', bob.client);
    await db.sql`delete from users where id = ${bob.userId}`;
    expect((await ann.client.get(`/posts/${id}/comments`)).body).toMatchObject([
      { userId: null, name: 'Deleted user' },
    ]);
    await ann.client.delete(`/posts/${id}`);
    expect((await ann.client.get(`/posts/${id}/comments`)).status).toBe(404);
    await db.sql`
      update posts
      set deleted_at = now() - interval '40 days', created_at = now() - interval '40 days'
      where id = ${id}`;
    await dropDeletedPosts(db.sql, 30, 500);
    expect(await db.sql`select id from post_notes where post_id = ${id}`).toEqual([]);
  });
});

describe('GET /posts/old', () => {
  test('lists published posts up to a date, the latest first [S119]', async () => {
    const ids = [];
    for (const content of ['<p>one</p>', '<p>two</p>']) {
      const id = await made(schedule({ type: 'now', posts: [element(channel, content)] }));
      await published(id);
      ids.push(id);
    }
    await made();
    const { body } = await ann.client.get('/posts/old');
    expect(body.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
    expect(body[1]).toEqual({
      id: ids[0],
      content: '<p>one</p>',
      publishDate: expect.stringMatching(/Z$/),
      integration: { id: channel, name: 'First', identifier: 'fake', providerIdentifier: 'fake', picture: null },
    });
    const upTo = (date: string) => ann.client.get(`/posts/old?date=${encodeURIComponent(date)}`);
    expect((await upTo(body[1].publishDate)).body).toEqual([body[1]]);
    expect((await upTo(later(-HOUR))).body).toEqual([]);
    expect((await upTo('yesterday')).body.errors[0].field).toBe('date');
    expect((await eve.client.get('/posts/old')).body).toEqual([]);
  });

  test('lists a hundred at most [S119]', async () => {
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, published_at)
      select gen_random_uuid(), ${ann.orgId}, ${channel}, 'old', 'PUBLISHED', 'x', now() - n * interval '1 minute', now()
      from generate_series(1, 2000) n`;
    expect((await ann.client.get('/posts/old')).body).toHaveLength(100);
  });
});

test('POST /posts/separate-posts divides a text, and refuses what is no length [S119]', async () => {
  const separate = (body: object) => ann.client.post('/posts/separate-posts', body);
  const { status, body } = await separate({ content: '<p>One two.</p><p>See https://a.example/b</p>', len: 12 });
  expect([status, body]).toEqual([200, { posts: ['One two.', 'See', 'https://a.example/b'] }]);
  for (const [field, asked] of [
    ['len', { content: 'x' }],
    ['len', { content: 'x', len: 0 }],
    ['len', { content: 'x', len: 1.5 }],
    ['len', { content: 'x', len: '5' }],
    ['len', { content: 'x', len: 100_001 }],
    ['content', { len: 5 }],
    ['content', { content: 5, len: 5 }],
    ['content', { content: 'x'.repeat(100_001), len: 5 }],
  ] as const)
    expect((await separate(asked)).body.errors.map((error: { field: string }) => error.field)).toContain(field);
  expect((await create()).status).toBe(201);
});
