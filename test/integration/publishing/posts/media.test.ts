import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { startReceiver } from '../../../support/wire/receiver.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { picture } from '../../../support/worlds/samples.ts';

let db: TestDatabase;
let app: TestApp;
let world: Publisher;
let ann: SignedUp;
let key: Client;
let channel: string;

beforeAll(async () => {
  db = await testDatabase();
  const env = { RESTRICT_UPLOAD_DOMAINS: 'cdn.example', NEXT_PUBLIC_BACKEND_URL: 'https://api.example' };
  world = await startPublisher({ url: db.url, network: openNetwork(), env });
  app = await testApp({ sql: db.sql, env, ...world.beside });
  ann = await app.signUp();
  key = await ann.withKey();
  channel = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channel}, ${ann.orgId}, 'fake', 'v1', ${channel}, 'First', 'v2:none')`;
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const rows = () => db.sql`select count(*)::int as n from posts`;
const body = (type: string, image: object) => ({
  type,
  date: systemClock.in(3_600_000).toISOString(),
  posts: [{ integration: { id: channel }, value: [{ content: 'x', image: [image] }] }],
});

test.each(['draft', 'schedule', 'now'])(
  '%s with media outside the domain of RESTRICT_UPLOAD_DOMAINS is 400, and nothing is stored [PO11, S125, S260]',
  async (type) => {
    const before = await rows();
    for (const path of [
      'https://elsewhere.example/a.png',
      'https://cdn.example.evil.example/a.png',
      'https://notcdn.example/a.png',
    ]) {
      const { status, body: answer } = await key.post('/public/v1/posts', body(type, { path }));
      expect([status, answer.code, answer.errors[0].field]).toEqual([
        400,
        'media_domain_not_allowed',
        'posts.0.value.0.image.0.path',
      ]);
    }
    const thumbnail = await key.post(
      '/public/v1/posts',
      body(type, { path: 'https://cdn.example/a.png', thumbnail: 'https://elsewhere.example/t.png' }),
    );
    expect([thumbnail.status, thumbnail.body.code]).toEqual([400, 'media_domain_not_allowed']);
    expect(await rows()).toEqual(before);
  },
);

test('media on an allowed domain or below it is claimed, and an edit is checked too [PO11, S125]', async () => {
  const { status, body: answer } = await key.post(
    '/public/v1/posts',
    body('schedule', { path: 'https://cdn.example/a.png' }),
  );
  expect(status).toBe(201);
  expect((await key.post('/public/v1/posts', body('schedule', { path: 'https://a.cdn.example/a.png' }))).status).toBe(
    201,
  );
  const refused = await key.put(`/public/v1/posts/${answer[0].postId}`, {
    image: [{ path: 'https://elsewhere.example/a.png' }],
  });
  expect([refused.status, refused.body.code]).toEqual([400, 'media_domain_not_allowed']);
  expect((await key.get(`/public/v1/posts/${answer[0].postId}`)).body.image[0].path).toBe('https://cdn.example/a.png');
});

const addressOf = (storageKey: string) => `https://api.example/uploads/${storageKey}`;
const fileOf = async (orgId: string) => {
  const [id, storageKey, thumbnailKey] = [newId(), `${orgId}/${newId()}.png`, `${orgId}/${newId()}.webp`];
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_key, thumbnail_key, kind, mime, bytes)
    values (${id}, ${orgId}, 'a', 'a.png', ${storageKey}, ${thumbnailKey}, 'image', 'image/png', 1)`;
  return { id, path: addressOf(storageKey), thumbnail: addressOf(thumbnailKey) };
};

test('an image that is found by its id is shown with the path of its file, whatever was sent beside it', async () => {
  const { id, path } = await fileOf(ann.orgId);
  for (const sent of ['https://cdn.example/other.png', '']) {
    const [{ postId }] = (await key.post('/public/v1/posts', body('draft', { id, path: sent }))).body;
    const shown = async () => (await key.get(`/public/v1/posts/${postId}`)).body;
    expect((await shown()).image).toMatchObject([{ id, path }]);
    const image = [{ id, path: 'https://elsewhere.example/a.png' }];
    const edited = await key.put(`/public/v1/posts/${postId}`, { image, thread: [{ content: 'x', image }] });
    expect(edited.body.image).toMatchObject([{ id, path }]);
    const [later] = (await db.sql`select media from posts where parent_post_id = ${postId}`) as unknown as {
      media: object[];
    }[];
    expect(later!.media).toMatchObject([{ id, path }]);
  }
});

test('a thumbnail on this server is a picture of the organization, else 400 with its field [S9, S269]', async () => {
  const [own, foreign] = [await fileOf(ann.orgId), await fileOf((await app.signUp()).orgId)];
  for (const thumbnail of [own.path, own.thumbnail])
    expect((await key.post('/public/v1/posts', body('draft', { ...own, thumbnail }))).status).toBe(201);
  const before = await rows();
  for (const thumbnail of [foreign.path, foreign.thumbnail, addressOf('nothing.png')]) {
    const { status, body: answer } = await key.post('/public/v1/posts', body('draft', { ...own, thumbnail }));
    expect([status, answer.errors?.[0].field]).toEqual([400, 'posts.0.value.0.image.0.thumbnail']);
  }
  expect(await rows()).toEqual(before);
});

test('files that settings name are judged like media: create, preflight and edit [PO11, S125, S260]', async () => {
  const site = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${site}, ${ann.orgId}, 'wordpress', 'v1', ${site}, 'Site', 'v2:none')`;
  const article = (type: string, settings: object) => ({
    ...body(type, {}),
    posts: [
      plain(),
      { integration: { id: site }, value: [{ content: 'x' }], settings: { title: 'A', type: 'posts', ...settings } },
    ],
  });
  const [field, outside] = ['posts.1.settings.main_image', 'https://elsewhere.example/a.png'];
  const before = await rows();
  for (const [main_image, code] of [
    [outside, 'media_domain_not_allowed'],
    [{ id: 'f1', path: outside }, 'media_domain_not_allowed'],
    ['https://169.254.169.254/a.png', 'blocked_url'],
    ['https://api.example/uploads/nothing.png', 'validation_failed'],
  ] as const)
    for (const type of ['draft', 'schedule', 'now']) {
      const { status, body: answer } = await key.post('/public/v1/posts', article(type, { main_image }));
      expect([status, answer.code, answer.errors?.[0].field]).toEqual([400, code, field]);
    }
  expect(await rows()).toEqual(before);

  const preflight = await ann.client.post('/posts/preflight', article('draft', { main_image: outside }));
  expect(preflight.body).toMatchObject([
    { valid: true },
    { valid: false, settingsError: true, issues: [{ field, rule: 'domain' }] },
  ]);

  const taken = await key.post('/public/v1/posts', article('draft', { main_image: 'https://cdn.example/a.png' }));
  expect(taken.status).toBe(201);
  // the network of the other channel does not take the setting for a file
  const unnamed = { ...body('draft', {}), posts: [{ ...plain(), settings: { main_image: outside } }] };
  expect((await key.post('/public/v1/posts', unnamed)).status).toBe(201);
  const path = `/public/v1/posts/${taken.body[1].postId}`;
  const refused = await key.put(path, { settings: { title: 'A', main_image: outside } });
  expect([refused.status, refused.body.code, refused.body.errors?.[0].field]).toEqual([
    400,
    'media_domain_not_allowed',
    'settings.main_image',
  ]);
});

test('a file that settings name by its id is shown with its path, whatever was sent beside it', async () => {
  const site = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${site}, ${ann.orgId}, 'wordpress', 'v1', ${site}, 'Site', 'v2:none')`;
  const [{ id, path }, other] = [await fileOf(ann.orgId), await fileOf(ann.orgId)];
  const settings = (main_image: object) => ({ title: 'A', type: 'posts', main_image });
  const article = (main_image: object) => ({
    ...body('draft', {}),
    posts: [{ integration: { id: site }, value: [{ content: 'x' }], settings: settings(main_image) }],
  });
  for (const sent of ['https://cdn.example/other.png', other.path]) {
    const [{ postId }] = (await key.post('/public/v1/posts', article({ id, path: sent }))).body;
    const shown = async () => (await ann.client.get(`/posts/${postId}`)).body.settings;
    expect(await shown()).toMatchObject({ title: 'A', main_image: { id, path } });
    for (const method of ['PUT', 'PATCH'])
      for (const file of [other, { id, path }]) {
        const main_image = { id: file.id, path: sent };
        expect((await key.send(method, `/public/v1/posts/${postId}`, { settings: settings(main_image) })).status).toBe(
          200,
        );
        expect(await shown()).toMatchObject({ title: 'A', main_image: { id: file.id, path: file.path } });
      }
  }
});

test('a file that the settings of a channel name is judged like media [PO11, S125]', async () => {
  const site = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${site}, ${ann.orgId}, 'wordpress', 'v1', ${site}, 'Site', 'v2:none')`;
  const set = (main_image: string) =>
    ann.client.post(`/integrations/${site}/settings`, {
      additionalSettings: JSON.stringify({ title: 'A', main_image }),
    });
  const refused = await set('https://elsewhere.example/a.png');
  expect([refused.status, refused.body.code, refused.body.errors?.[0].field]).toEqual([
    400,
    'media_domain_not_allowed',
    'additionalSettings.main_image',
  ]);
  expect((await set('https://cdn.example/a.png')).status).toBe(200);
});

test.each([
  'http://127.0.0.1/a.png',
  'https://169.254.169.254/a.png',
  'https://user:pass@cdn.example/a.png',
  'ftp://cdn.example/a.png',
  'nonsense',
  'https://api.example/uploads/nothing.png',
])('%s is refused at create', async (path) => {
  const before = await rows();
  const { status } = await key.post('/public/v1/posts', body('draft', { path }));
  expect(status).toBe(400);
  expect(await rows()).toEqual(before);
});

test('a file that the network does not take is 400 with its path, in a create, an edit and when a draft is scheduled [S108]', async () => {
  const file = newId();
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, duration_ms)
    values (${file}, ${ann.orgId}, 'film', 'film.mp4', ${`${ann.orgId}/film.mp4`}, 'video', 'video/mp4', 1000, 90000)`;
  const film = { id: file, path: '' };
  const before = await rows();
  const created = await key.post('/public/v1/posts', {
    ...body('schedule', film),
    posts: [{ integration: { id: channel }, value: [{ content: 'x' }, { content: 'y', image: [film] }] }],
  });
  expect([created.status, created.body.code, created.body.errors]).toEqual([
    400,
    'invalid_content',
    [
      {
        field: 'posts.0.value.1.image.0',
        message: 'item 2 of the thread: video/mp4 is not taken (image/*)',
        rule: 'type',
      },
    ],
  ]);
  expect(await rows()).toEqual(before);

  const draft = (await key.post('/public/v1/posts', body('draft', film))).body[0].postId;
  const scheduled = await key.put(`/public/v1/posts/${draft}/status`, { status: 'schedule' });
  expect([scheduled.status, scheduled.body.errors]).toMatchObject([400, [{ field: 'image.0', rule: 'type' }]]);

  const text = (await key.post('/public/v1/posts', { ...body('schedule', film), posts: [plain()] })).body[0].postId;
  const edited = await key.put(`/public/v1/posts/${text}`, { image: [film] });
  expect([edited.status, edited.body.errors]).toMatchObject([400, [{ field: 'image.0', rule: 'type' }]]);
});
test('a draft is not scheduled with a file that can be published no more, and is with one that was only deleted [S108, S150]', async () => {
  const [deleted, withdrawn] = [newId(), newId()];
  for (const id of [deleted, withdrawn])
    await db.sql`
      insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
      values (${id}, ${ann.orgId}, 'a', 'a.png', ${`${ann.orgId}/${id}.png`}, 'image', 'image/png', 1000)`;
  const [first, second] = await Promise.all(
    [deleted, withdrawn].map(
      async (id) => (await key.post('/public/v1/posts', body('draft', { id, path: '' }))).body[0].postId,
    ),
  );
  await db.sql`
    update files set deleted_at = now(), withdrawn = id = ${withdrawn} where id in (${deleted}, ${withdrawn})`;
  const schedule = (id: string) => key.put(`/public/v1/posts/${id}/status`, { status: 'schedule' });
  expect((await schedule(first)).status).toBe(200);
  for (let n = 0; n < 2; n++) {
    const refused = await schedule(second);
    expect([refused.status, refused.body.errors?.[0].field]).toEqual([400, 'image.0.path']);
    await db.sql`delete from files where id = ${withdrawn}`; // as retention does
  }
});
test('a network that fetches pictures itself is not asked where it cannot reach this server, and the post says what to do', async () => {
  await using own = await testDatabase();
  const network = openNetwork();
  network.declares = { limits: { ...network.adapter.limits, fetches: ['image'] } };
  const folder = await mkdtemp(join(tmpdir(), 'rookery-fetches-'));
  const png = await picture(8, 8);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  const media = [{ path: `${site.url}/a.png`, alt: '' }];
  const publishedAs = async (address: string) => {
    const env = { UPLOAD_FOLDER: folder, NEXT_PUBLIC_BACKEND_URL: address };
    await using publisher = await startPublisher({ url: own.url, network, env });
    const { orgId, channelId } = await seedOrg(own.sql);
    const file = newId();
    await own.sql`
      insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
      values (${file}, ${orgId}, 'a', 'a.png', ${`${orgId}/${'a'.repeat(32)}.png`}, 'image', 'image/png', ${png.length})`;
    await mkdir(join(folder, orgId), { recursive: true });
    await writeFile(join(folder, orgId, `${'a'.repeat(32)}.png`), png);
    const posts = [newPost(channelId, { media: [{ id: file, path: '', alt: '' }] }), newPost(channelId, { media })];
    await admit(publisher, orgId, posts);
    await settled(own.sql, orgId);
    return Promise.all(posts.map(({ id }) => stateOf(own.sql, id)));
  };
  const refused = { state: 'ERROR', error: expect.stringContaining('NEXT_PUBLIC_BACKEND_URL') };
  expect(await publishedAs('http://127.0.0.1:3000')).toMatchObject([refused, refused]);
  expect(network.asked).toEqual([]);
  // the server can be reached, the address outside is one of this machine
  expect(await publishedAs('https://api.example')).toMatchObject([{ state: 'PUBLISHED' }, refused]);
  expect(network.asked).toHaveLength(1);
  await rm(folder, { recursive: true });
});

test('files that settings name reach the network by their settings, beside those of the post', async () => {
  await using own = await testDatabase();
  const network = openNetwork();
  network.declares = { fileSettings: ['thumbnail', 'cover'] };
  const png = await picture(8, 8);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  await using publisher = await startPublisher({ url: own.url, network });
  const { orgId, channelId } = await seedOrg(own.sql);
  const settings = { thumbnail: { id: 'f1', path: `${site.url}/t.png` }, cover: `${site.url}/c.png`, title: 'A' };
  const one = newPost(channelId, { media: [{ path: `${site.url}/a.png`, alt: 'A' }], settings });
  const other = newPost(channelId, { settings: { thumbnail: '', title: 'A' } });
  await admit(publisher, orgId, [one, other]);
  await settled(own.sql, orgId);
  const sent = network.asked.find(({ postId }) => postId === one.id)!;
  expect(Object.keys(sent.files ?? {})).toEqual(['thumbnail', 'cover']);
  expect(Object.values(sent.files ?? {}).map(({ size }) => size)).toEqual([png.length, png.length]);
  expect(network.asked.find(({ postId }) => postId === other.id)!.files).toBeUndefined();
});

const plain = () => ({ integration: { id: channel }, value: [{ content: 'x' }] });
