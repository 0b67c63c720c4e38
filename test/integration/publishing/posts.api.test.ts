import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { type Answer, type Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import {
  channelActorOf,
  type Network,
  newPost,
  openNetwork,
  type Publisher,
  sealedLogin,
  settled,
  startPublisher,
} from '../../support/worlds/publishing.ts';
import { settles } from '../../support/wire/settles.ts';

let db: TestDatabase;
let app: TestApp;
let world: Publisher;
let network: Network;
let ann: SignedUp;
let eve: SignedUp;
let key: Client;
let channel: string;
let second: string;
let foreign: string;

beforeAll(async () => {
  db = await testDatabase();
  network = openNetwork();
  world = await startPublisher({ url: db.url, network });
  app = await testApp({ sql: db.sql, ...world.beside });
  ann = await app.signUp();
  eve = await app.signUp();
  key = await ann.withKey();
  [channel, second] = await Promise.all([connect(ann.orgId, 'First'), connect(ann.orgId, 'Second')]);
  foreign = await connect(eve.orgId, 'Foreign');
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => {
  network.behave = undefined;
});

async function connect(
  orgId: string,
  name: string,
  more: { disabled?: boolean; refreshNeeded?: boolean } = {},
): Promise<string> {
  const id = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, disabled,
      refresh_needed)
    values (${id}, ${orgId}, 'fake', 'v1', ${id}, ${name}, ${sealedLogin(id)}, ${more.disabled ?? false},
      ${more.refreshNeeded ?? false})`;
  return id;
}
const HOUR = 3_600_000;
const later = (ms = HOUR) => systemClock.in(ms).toISOString();
const element = (id: string, content = '<p>Hi</p>', more: object = {}) => ({
  integration: { id },
  value: [{ content }],
  ...more,
});
const schedule = (more: object = {}) => ({ type: 'schedule', date: later(), posts: [element(channel)], ...more });
const create = (body: object = schedule(), client = key, headers: Record<string, string> = {}) =>
  client.post('/public/v1/posts', body, headers);
const rows = async () => (await db.sql`select count(*)::int as n from posts`)[0]!['n'] as number;
async function made(body: object = schedule()): Promise<string> {
  const answer = await create(body);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body[0].postId;
}
const read = async (id: string, client: Client = ann.client): Promise<any> => (await client.get(`/posts/${id}`)).body; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
const published = (id: string) => settles(async () => expect(await read(id)).toMatchObject({ state: 'PUBLISHED' }));

describe('POST /public/v1/posts', () => {
  test('answers a post for several channels with one entry for each, in order [S103, T3]', async () => {
    const answer = await create({
      ...schedule(),
      posts: [element(channel), element(second, '<p>Two</p>')],
      tags: [
        { value: 'a', label: 'Alpha' },
        { value: 'b', label: 'alpha' },
      ],
      shortLink: false,
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual([
      { postId: expect.any(String), integration: channel },
      { postId: expect.any(String), integration: second },
    ]);
    const post = await read(answer.body[1].postId);
    expect(post).toMatchObject({
      state: 'QUEUE',
      detail: 'scheduled',
      content: '<p>Two</p>',
      integrationId: second,
      creationMethod: 'API',
      version: 1,
      thread: [],
      approval: null,
      firstComment: { state: 'none', error: null },
    });
    expect(post.tags).toEqual([{ tag: { id: expect.any(String), name: 'Alpha', color: '#612AD5' } }]); // S261
    expect((await read(answer.body[0].postId)).group).not.toBe(post.group); // S105
  });

  test('accepts each dialect of a field [T4, T5]', async () => {
    const date = later();
    const bodies = [
      {
        type: 'schedule',
        date,
        shortLink: false,
        tags: [{ value: 'a', label: 'A' }],
        posts: [
          {
            integration: { id: channel },
            group: 'optional',
            value: [
              {
                content: '<p>Hi</p>',
                id: 'optional',
                delay: 0,
                image: [{ id: 'm1', path: 'https://a.example/x.png', alt: '', thumbnail: '' }],
              },
            ],
            settings: { __type: 'x', who_can_reply_post: 'everyone' },
          },
        ],
      },
      {
        type: 'schedule',
        creationMethod: 'CLI',
        date,
        shortLink: true,
        tags: [],
        posts: [
          {
            integration: { id: channel },
            value: [
              { content: 'Hi', delay: 0, image: [{ id: 'k3j9x1', path: 'https://a.example/x.png' }] },
              { content: 'second item', delay: 5, image: [] },
            ],
          },
        ],
      },
      {
        type: 'draft',
        date: '2026-09-01T10:00:00',
        shortLink: false,
        tags: [],
        posts: [
          { integration: { id: channel }, group: '', value: [{ content: 'Hi', id: '', image: [] }], settings: {} },
        ],
      },
      {
        type: 'schedule',
        date,
        shortLink: false,
        tags: [],
        posts: [
          {
            integration: { id: channel },
            value: [{ content: 'Title https://a.example', image: [{ id: 'up1', path: 'https://a.example/a.jpg' }] }],
            settings: { __type: 'twitter' },
          },
        ],
      },
      {
        type: 'draft',
        date: null,
        tags: null,
        inter: null,
        posts: [
          {
            integration: { id: channel },
            group: null,
            value: [{ content: 'x', id: null, delay: null, image: null }],
            settings: null,
          },
        ],
      },
    ];
    for (const body of bodies) {
      const answer = await create(body);
      expect([answer.status, answer.text]).toEqual([
        201,
        JSON.stringify([{ postId: answer.body[0]?.postId, integration: channel }]),
      ]);
      const found = await key.get(`/public/v1/posts/${answer.body[0].postId}`);
      expect([found.status, JSON.parse(found.body.settings).__type]).toEqual([200, 'fake']);
    }
    const cli = await db.sql`select creation_method from posts where content = 'second item'`;
    expect(cli).toEqual([{ creation_method: 'CLI' }]);
    const inside = await create(
      schedule({
        posts: [element(channel, 'x', { value: [{ content: 'x', image: [{ path: 'https://10.0.0.1/a.jpg' }] }] })],
      }),
    );
    // media is judged where it is named
    expect([inside.status, inside.body.errors[0].field]).toEqual([400, 'posts.0.value.0.image.0.path']);
  });

  test('accepts every known key, names unknown ones, and passes unknown keys inside settings [T6]', async () => {
    const whole = {
      type: 'schedule',
      date: later(),
      shortLink: false,
      tags: [{ value: 'v', label: 'l', color: '#ff0000' }],
      order: '',
      inter: 0,
      republish: false,
      creationMethod: 'API',
      recurrence: null,
      timezone: 'UTC',
      posts: [
        {
          integration: { id: channel },
          group: 'g',
          type: 'x',
          settings: { invented: { deep: 1 }, firstComment: '' },
          value: [
            {
              content: 'x',
              id: 'y',
              delay: 3,
              image: [
                {
                  id: 'i',
                  path: 'https://a.example/i.png',
                  alt: 'a',
                  thumbnail: 'https://a.example/t.png',
                  thumbnailTimestamp: 1,
                  name: 'n',
                  type: 'image',
                },
              ],
            },
          ],
        },
      ],
    };
    const answer = await create(whole);
    expect(answer.status).toBe(201);
    expect(await read(answer.body[0].postId)).toMatchObject({
      group: 'g',
      settings: { invented: { deep: 1 } },
      image: [{ id: 'i', path: 'https://a.example/i.png', alt: 'a', thumbnail: 'https://a.example/t.png' }],
    });
    for (const [field, body] of Object.entries({
      bogus: { ...whole, bogus: 1 },
      'posts.0.bogus': { ...whole, posts: [{ ...whole.posts[0], bogus: 1 }] },
      'posts.0.integration.bogus': { ...whole, posts: [{ ...whole.posts[0], integration: { id: channel, bogus: 1 } }] },
      'posts.0.value.0.bogus': { ...whole, posts: [{ ...whole.posts[0], value: [{ content: 'x', bogus: 1 }] }] },
      'posts.0.value.0.image.0.bogus': {
        ...whole,
        posts: [
          { ...whole.posts[0], value: [{ content: 'x', image: [{ path: 'https://a.example/i.png', bogus: 1 }] }] },
        ],
      },
      'tags.0.bogus': { ...whole, tags: [{ label: 'l', bogus: 1 }] },
    })) {
      const refused = await create(body);
      expect([refused.status, refused.body.code, refused.body.errors?.[0]?.field]).toEqual([
        400,
        'unknown_field',
        field,
      ]);
    }
  });

  test('accepts dates with Z, with an offset and without one; drafts take any date and `now` ignores it [T7, S104]', async () => {
    const at = new Date(Math.floor(Date.now() / 1000) * 1000 + 2 * HOUR);
    const plain = at.toISOString().slice(0, 19);
    const offset = `${new Date(at.getTime() + 2 * HOUR).toISOString().slice(0, 19)}+02:00`;
    for (const date of [at.toISOString(), offset, plain, plain.replace('T', ' '), `${plain}.123456Z`]) {
      const { publishDate } = await read(await made(schedule({ date })));
      expect(new Date(publishDate).setMilliseconds(0)).toBe(at.getTime());
    }
    expect((await read(await made(schedule({ type: 'draft', date: '2020-01-01' })))).publishDate).toBe(
      '2020-01-01T00:00:00.000Z',
    );
    const now = await made(schedule({ type: 'now', date: '2020-01-01T10:00:00' }));
    await settled(db.sql, ann.orgId, { details: ['scheduled'] });
    expect((await read(now)).publishDate > '2026').toBe(true);
    const old = await create(schedule({ date: systemClock.in(-25 * HOUR).toISOString() }));
    expect([old.status, old.body.code]).toEqual([400, 'date_in_past']);
    await made(schedule({ date: systemClock.in(-23 * HOUR).toISOString() })); // due at once
    expect((await create({ ...schedule(), date: undefined })).body.errors[0].field).toBe('date');
  });

  test('reads a date without an offset in `timezone`, and one with an offset, or without a zone, literally [T7]', async () => {
    const year = new Date().getUTCFullYear() + 1;
    const cases = [
      [`${year}-08-03T10:00:00`, 'Europe/Berlin', `${year}-08-03T08:00:00.000Z`],
      [`${year}-12-03T10:00`, 'Europe/Berlin', `${year}-12-03T09:00:00.000Z`],
      [`${year}-08-03`, 'America/New_York', `${year}-08-03T04:00:00.000Z`],
      [`${year}-08-03T10:00:00Z`, 'Europe/Berlin', `${year}-08-03T10:00:00.000Z`],
      [`${year}-08-03T10:00:00-05:00`, 'Europe/Berlin', `${year}-08-03T15:00:00.000Z`],
      [`${year}-08-03T10:00:00`, '', `${year}-08-03T10:00:00.000Z`],
      [`${year}-08-03T10:00:00`, null, `${year}-08-03T10:00:00.000Z`],
    ] as const;
    for (const [date, timezone, publishDate] of cases)
      for (const type of ['schedule', 'draft']) {
        const id = await made(schedule({ type, date, timezone }));
        expect([date, timezone, (await read(id)).publishDate]).toEqual([date, timezone, publishDate]);
        await made({
          type: 'update',
          date: `${year}-01-02T10:00:00`,
          timezone: 'Asia/Tokyo',
          posts: [element(channel, 'x', { value: [{ id, content: 'x' }] })],
        });
        expect((await read(id)).publishDate).toBe(`${year}-01-02T01:00:00.000Z`);
      }
  });

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
    const all = (await ann.client.get('/posts/list?limit=2&state=scheduled')).body;
    expect(all).toMatchObject({ page: 0, limit: 2, hasMore: true });
    const next = (await ann.client.get('/posts/list?limit=2&page=1&state=scheduled')).body;
    expect(next.posts[0].id).not.toBe(all.posts[0].id);
    expect((await ann.client.get('/posts/list?page=1000')).body).toMatchObject({ posts: [], hasMore: false });
    expect((await ann.client.get('/posts/list?state=bogus')).status).toBe(400);
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
    expect((await ann.client.put(`/posts/${old}/status`, { status: 'schedule' })).body.code).toBe('date_in_past');
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
