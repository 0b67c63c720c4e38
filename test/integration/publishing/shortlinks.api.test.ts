import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import {
  type Network,
  openNetwork,
  type Publisher,
  sealedLogin,
  settled,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';
import {
  type FakeShortener,
  patientClock,
  type SetUp,
  setUpOf,
  startShortener,
} from '../../support/peers/shortener.ts';

let db: TestDatabase;
let shortener: FakeShortener;
let setUp: SetUp;
let network: Network;
let world: Publisher;
let app: TestApp;
let ann: SignedUp;
let channel: string;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => {
  shortener = await startShortener();
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, clock: patientClock(), servers: shortener.servers });
  app = await testApp({ sql: db.sql, ...world.beside });
  setUp = setUpOf(world.context);
  await setUp.set(null, 'dub');
  ann = await app.signUp();
  channel = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channel}, ${ann.orgId}, 'fake', 'v1', ${channel}, 'Channel', ${sealedLogin(channel)})`;
});
afterEach(async () => {
  await app[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
  await shortener[Symbol.asyncDispose]();
});

const A = 'https://shop.example/products/42';
const B = 'https://blog.example/2026/what-a-title';
const body = (more: object, ...contents: string[]) => ({
  type: 'schedule',
  date: systemClock.in(2 * 3_600_000).toISOString(),
  posts: [{ integration: { id: channel }, value: contents.map((content) => ({ content })) }],
  ...more,
});
async function create(more: object, ...contents: string[]): Promise<string> {
  const answer = await ann.client.post('/posts', body(more, ...contents));
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body[0].postId;
}
const wanted = async (postId: string) =>
  (
    await db.sql`
      select l.url
      from short_links l
      join posts p on p.id = l.post_id
      where ${postId} in (p.id, p.root_post_id)
      order by p.seq, l.url`
  ).map(({ url }) => url);
const policy = (shortlink: string) => ann.client.post('/settings/shortlink', { shortlink });

describe('links of a post are shortened', () => {
  test.each([
    ['ASK', true, true],
    ['ASK', false, false],
    ['ASK', null, false],
    ['YES', true, true],
    ['YES', false, true],
    ['YES', null, true],
    ['NO', true, false],
    ['NO', null, false],
  ])(
    'by the policy of the organization, which may ask the writer: %s with shortLink %s → %s',
    async (choice, shortLink, expected) => {
      await policy(choice);
      const id = await create({ shortLink }, `One ${A}`, `Two ${B}`);
      expect(await wanted(id)).toEqual(expected ? [A, B] : []);
    },
  );

  test('for a draft as for a scheduled post, and not for a refused create', async () => {
    expect(await wanted(await create({ type: 'draft', shortLink: true }, `One ${A}`))).toEqual([A]);
    const before = await db.sql`select count(*)::int as n from short_links`;
    const refused = await ann.client.post('/posts', {
      ...body({ shortLink: true }, `One ${A}`),
      posts: [...body({}, A).posts, { integration: { id: newId() }, value: [{ content: A }] }],
    });
    expect(refused.status).toBe(400);
    expect(await db.sql`select count(*)::int as n from short_links`).toEqual(before);
  });

  test('after an edit for its new links, or as the edit says', async () => {
    const id = await create({ shortLink: true }, `One ${A}`);
    expect((await ann.client.send('PATCH', `/posts/${id}`, { content: `One ${B}` })).status).toBe(200);
    expect(await wanted(id)).toEqual([B]);
    await ann.client.put(`/posts/${id}`, { thread: [{ content: `Two ${A}` }] });
    expect(await wanted(id)).toEqual([B, A]);
    const change = (more: object) => ({
      ...body({ type: 'update', ...more }),
      posts: [{ integration: { id: channel }, value: [{ id, content: `Three ${A}` }] }],
    });
    await ann.client.post('/posts', change({ shortLink: false }));
    expect(await wanted(id)).toEqual([]);
    await ann.client.send('PATCH', `/posts/${id}`, { content: `Four ${B}` });
    expect(await wanted(id)).toEqual([]); // nobody asked again
    await ann.client.post('/posts', change({ shortLink: true }));
    expect(await wanted(id)).toEqual([A]);
    await policy('NO');
    await ann.client.send('PATCH', `/posts/${id}`, { content: `Five ${A}` });
    expect(await wanted(id)).toEqual([]);
    await policy('YES');
    await ann.client.send('PATCH', `/posts/${id}`, { content: `Six ${B}` });
    expect(await wanted(id)).toEqual([B]);
  });

  test('only if the text fits with its long links, so that a missing short link cannot fail the post [S108]', async () => {
    // 100 characters may go out
    const answer = await ann.client.post('/posts', body({ shortLink: true }, `${'x'.repeat(80)} ${A}`));
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_content']);
  });
});

describe('POST /posts/should-shortlink [S119]', () => {
  const ask = async (...messages: string[]) => (await ann.client.post('/posts/should-shortlink', { messages })).body;

  test('asks when the policy is ASK, the text has a link and a provider is set up', async () => {
    expect(await ask('Hello', `<p>See <a href="${A}">this</a></p>`)).toEqual({ ask: true });
    expect(await ask('Hello', 'shop.example')).toEqual({ ask: false });
    expect(await ask()).toEqual({ ask: false });
    expect(await ask('https://dub.sh/abc')).toEqual({ ask: false });
    for (const choice of ['YES', 'NO']) {
      await policy(choice);
      expect(await ask(A)).toEqual({ ask: false });
    }
    await policy('ASK');
    await setUp.set(null);
    expect(await ask(A)).toEqual({ ask: false });
    expect(shortener.asked).toEqual([]);
  });

  test('refuses a malformed body by its field [S6]', async () => {
    for (const messages of [undefined, 'text', [1], [null]]) {
      const answer = await ann.client.post('/posts/should-shortlink', { messages });
      expect([answer.status, answer.body.errors[0].field]).toEqual([400, expect.stringMatching(/^messages/)]);
    }
  });
});

test('an organization configures, tests and chooses its provider, and its links are made with its key [S156, S157, S158, S160]', async () => {
  const bob = await app.signUp();
  const room = app.context.shortlinks;
  const save = (more: object) => bob.client.post('/providers/settings', { domain: 'shortlink', ...more });

  const dub = { providerId: 'dub', credentials: { apiKey: 'dub_the-key', domain: 'go.shop.example' } };
  const saved = await save(dub);
  expect([saved.status, saved.body]).toMatchObject([
    201,
    {
      domain: 'shortlink',
      providerId: 'dub',
      version: 'v1',
      options: { domain: 'go.shop.example' },
      credentials: { apiKey: { set: true, hint: null } },
    },
  ]);
  expect(JSON.stringify(await db.sql`select * from provider_settings where org_id = ${bob.orgId}`)).not.toContain(
    'dub_the-key',
  );
  shortener.on('GET /domains', { status: 200, body: [{ slug: 'go.shop.example' }] });
  expect((await bob.client.post(`/providers/settings/${saved.body.id}/test`)).body).toMatchObject({
    ok: true,
    message: 'The workspace has the domain go.shop.example',
  });
  shortener.on('GET /domains', { status: 401, body: { error: { code: 'unauthorized' } } });
  expect((await bob.client.post(`/providers/settings/${saved.body.id}/test`)).body).toMatchObject({
    ok: false,
    message: 'Dub answered 401',
  });

  const faults = [
    await save({ providerId: 'dub', credentials: { domain: 'not a domain' } }),
    await save({ providerId: 'sniply', credentials: { apiKey: 'k' } }),
    await save({ providerId: 'lnkify', credentials: {}, allowPreview: true }),
  ];
  expect(
    faults.map(({ status, body: { code, errors } }) => [
      status,
      code,
      errors?.map(({ field }: { field: string }) => field),
    ]),
  ).toEqual([
    [400, 'validation_failed', ['credentials.apiKey', 'credentials.domain']],
    [400, 'preview_not_allowed', undefined],
    [400, 'invalid_request', undefined],
  ]);
  expect((await save({ providerId: 'sniply', credentials: { apiKey: 'k' }, allowPreview: true })).status).toBe(201);

  expect(
    (await bob.client.put('/settings', { defaultShortlinkProviderId: 'dub' })).body.defaultShortlinkProviderId,
  ).toBe('dub');
  expect((await bob.client.put('/settings', { defaultShortlinkProviderId: 'bit' })).body.errors[0].field).toBe(
    'defaultShortlinkProviderId',
  );
  expect(await room.shouldAsk(bob.orgId, [A])).toBe(true);
  expect(await room.shouldAsk(bob.orgId, ['https://go.shop.example/a'])).toBe(false);
});

describe('statistics of short links [S119]', () => {
  /** Published, with short links. */
  const published = async (...contents: string[]) => {
    const id = await create({ type: 'now', shortLink: true }, ...contents);
    await settled(db.sql, ann.orgId);
    shortener.asked.length = 0;
    return id;
  };
  const statistics = async (id: string) => (await ann.client.get(`/posts/${id}/statistics`)).body;
  const age = () => db.sql`update short_links set clicks_at = now() - interval '6 minutes'`;

  test('are listed per link in the order of the thread, and fetched at most once in five minutes', async () => {
    const id = await published(`One ${A}`, `Two ${B}`);
    shortener.clicks.set('1', 17);
    const expected = {
      clicks: [
        { short: 'https://dub.sh/1', original: A, clicks: 17 },
        { short: 'https://dub.sh/2', original: B, clicks: 0 },
      ],
    };
    expect(await statistics(id)).toEqual(expected);
    shortener.clicks.set('1', 18);
    expect(await statistics(id)).toEqual(expected);
    expect(shortener.asked).toEqual(['GET /analytics', 'GET /analytics']);
    await age();
    expect((await statistics(id)).clicks[0].clicks).toBe(18);
  });

  test('are the last known ones while the provider is away or no longer configured', async () => {
    const id = await published(`One ${A}`);
    shortener.clicks.set('1', 5);
    expect((await statistics(id)).clicks[0].clicks).toBe(5);
    shortener.on('GET /analytics', { status: 500 });
    await age();
    expect((await statistics(id)).clicks[0].clicks).toBe(5);
    await setUp.set(null);
    expect((await statistics(id)).clicks[0].clicks).toBe(5);
  });

  test('are null where the provider has none, and empty for a post without short links', async () => {
    await setUp.set(null, 'isgd');
    expect(await statistics(await published(`One ${A}`))).toEqual({
      clicks: [{ short: 'https://is.gd/1', original: A, clicks: null }],
    });
    expect(await statistics(await published('One'))).toEqual({ clicks: [] });
    expect(shortener.asked).toEqual([]);
  });

  test('answer a post of another organization like an unknown one [S9]', async () => {
    const id = await published(`One ${A}`);
    const eve = await app.signUp();
    const answers = await Promise.all(
      [id, newId(), 'not-an-id'].map((one) => eve.client.get(`/posts/${one}/statistics`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(new Set(answers.slice(0, 2).map(({ body: { code, message } }) => `${code} ${message}`)).size).toBe(1);
    expect(shortener.asked).toEqual([]);
  });
});
