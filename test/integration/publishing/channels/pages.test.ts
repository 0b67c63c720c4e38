import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../../support/worlds/billing.ts';
import { type PagedNetwork, startPagedNetwork } from '../../../support/worlds/publishing/paged-network.ts';
import { type Publisher, startPublisher } from '../../../support/worlds/publishing/world.ts';

const env = { ...WITH_BILLING, FRONTEND_URL: 'https://app.example' };
let db: Awaited<ReturnType<typeof testDatabase>>;
let network: PagedNetwork;
let publisher: Publisher;
let app: TestApp;
let ann: SignedUp;
let ben: SignedUp;

beforeAll(async () => {
  db = await testDatabase();
  network = await startPagedNetwork();
  publisher = await startPublisher({ url: db.url, env, adapters: [network.adapter] });
  app = await testApp({ sql: db.sql, env, ...publisher.beside });
  [ann, ben] = [await app.signUp(), await app.signUp()];
  for (const { client, orgId } of [ann, ben]) {
    await subscribe(db.sql, orgId, { tier: 'PRO' });
    const credentials = { clientId: 'app', clientSecret: 'app-secret' };
    const made = await client.post('/providers/settings', { domain: 'social', providerId: 'paged', credentials });
    expect(made.status).toBe(201);
  }
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await publisher?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  network.pages = [
    { id: 'p1', name: 'Bakery' },
    { id: 'p2', name: 'Butcher' },
  ];
  Object.assign(network, { expiresIn: 3_600, pagesStatus: 200 });
  network.posts.length = 0;
});
afterEach(async () => {
  expect(network.faults).toEqual([]);
  await db.sql`truncate channels, channel_choices, connect_states, outbox cascade`;
  for (const { orgId } of [ann, ben]) await override(db.sql, orgId, {});
});

async function logIn({ client }: { client: Client } = ann, refresh?: string) {
  const begun = await client.get(`/integrations/social/paged${refresh === undefined ? '' : `?refresh=${refresh}`}`);
  const state = new URL(begun.body.url).searchParams.get('state')!;
  return client.post('/integrations/social-connect/paged', { code: 'code', state });
}
/** A login whose page is still to be chosen. */
async function pending(who: SignedUp = ann): Promise<string> {
  const { status, body } = await logIn(who);
  expect([status, body.inBetweenSteps]).toEqual([200, true]);
  return body.id;
}
const choose = (id: string, body: object, { client }: { client: Client } = ann) =>
  client.post(`/integrations/provider/${id}/connect`, body);
/** A channel of a page. */
async function connected(page = 'p1', who: SignedUp = ann): Promise<string> {
  const id = await pending(who);
  const { status, body } = await choose(id, { page }, who);
  expect([status, body]).toEqual([200, { success: true }]);
  return id;
}
const listed = async ({ client }: { client: Client } = ann) =>
  (await client.get('/integrations/list')).body.integrations as { id: string; inBetweenSteps: boolean }[];
const pagesOf = (id: string, { client }: { client: Client } = ann) =>
  client.post('/integrations/function', { id, name: 'pages' });
const channelsUsed = async () => (await app.context.billing.usage(ann.orgId)).limits.channel.used;
const schedule = (id: string, content = 'Fresh bread') =>
  ann.client.post('/posts', {
    type: 'schedule',
    date: new Date(Date.now() + 3_600_000).toISOString(),
    shortLink: false,
    tags: [],
    posts: [{ integration: { id }, value: [{ content, image: [] }] }],
  });
const needLogin = (id: string) => app.context.channels.needsLogin(ann.orgId, id, 'revoked');
/** As if its token had been given that long ago. */
async function age(table: 'channels' | 'channel_choices', id: string, seconds: number) {
  const { vault } = app.context;
  const [row] = await db.sql`select credentials from ${db.sql(table)} where id = ${id}`;
  const open = JSON.parse(vault.open(row!['credentials'] as string));
  const earlier = (at: string) => new Date(Date.parse(at) - seconds * 1_000).toISOString();
  const tokens = { ...open.tokens, expiresAt: earlier(open.tokens.expiresAt) };
  const sealed = vault.seal(JSON.stringify({ ...open, tokens, grantedAt: earlier(open.grantedAt) }));
  await db.sql`update ${db.sql(table)} set credentials = ${sealed} where id = ${id}`;
}

describe('a login at a network with pages', () => {
  test('answers the pages, and is listed in between: neither postable nor counted [S131, S133]', async () => {
    const { status, body } = await logIn();
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        inBetweenSteps: true,
        identifier: 'paged',
        name: 'Paged',
        internalId: '',
        refreshNeeded: false,
        pages: [
          { id: 'p1', name: 'Bakery', handle: null, picture: null },
          { id: 'p2', name: 'Butcher', handle: null, picture: null },
        ],
      }),
    ]);
    expect((await listed()).map(({ id, inBetweenSteps }) => [id, inBetweenSteps])).toEqual([[body.id, true]]);
    expect((await ann.client.get(`/integrations/${body.id}`)).body.inBetweenSteps).toBe(true);
    expect((await (await ann.withKey()).get('/public/v1/integrations')).body).toEqual([]);
    expect(await channelsUsed()).toBe(0);
    const post = await schedule(body.id);
    expect([post.status, post.body.errors[0].field]).toEqual([400, 'posts.0.integration.id']);
    for (const move of ['enable', 'disable'])
      expect((await ann.client.post(`/integrations/${move}`, { id: body.id })).status).toBe(404);
  });

  test('becomes the channel of the chosen page, which publishes [S133, S127]', async () => {
    const id = await connected('p2');
    const [channel, ...others] = await listed();
    expect(others).toEqual([]);
    expect(channel).toMatchObject({ id, internalId: 'p2', name: 'Butcher', profile: 'butcher', inBetweenSteps: false });
    expect(await channelsUsed()).toBe(1);
    const made = await ann.client.post('/posts', {
      type: 'now',
      date: new Date().toISOString(),
      shortLink: false,
      tags: [],
      posts: [{ integration: { id }, value: [{ content: 'Fresh meat', image: [] }] }],
    });
    expect(made.status).toBe(201);
    await eventually('it is published', () => network.posts.length > 0);
    expect(network.posts).toEqual([{ page: 'p2', text: 'Fresh meat' }]);
  });

  test('keeps its page when the token is renewed', async () => {
    const id = await connected('p2');
    await age('channels', id, 3_600);
    const { social } = await app.context.channels.connect(ann.orgId, id);
    expect((await social.profile()).id).toBe('p2');
  });

  test('takes the page by either key of the clients, and ignores further ones [S133]', async () => {
    expect((await choose(await pending(), { id: 'p1', pageId: 'other', more: { a: 1 } })).body).toEqual({
      success: true,
    });
    expect((await choose(await pending(), { page: 'p2', id: 'p1' })).body).toEqual({ success: true });
    expect((await listed()).map((one) => (one as unknown as { internalId: string }).internalId)).toEqual(['p1', 'p2']);
  });

  test('refuses a page that is not offered, naming its field, and can still be chosen for [S133]', async () => {
    const id = await pending();
    for (const [body, field] of [
      [{ page: 'p3' }, 'page'],
      [{ id: 'p3' }, 'id'],
      [{}, 'page'],
      [{ page: '' }, 'page'],
      [{ page: 7 }, 'page'],
      [{ id: 'x'.repeat(2_000) }, 'id'],
    ] as const) {
      const { status, body: answer } = await choose(id, body);
      expect([body, status, answer.errors[0].field]).toEqual([body, 400, field]);
    }
    expect(await db.sql`select 1 from channels`).toHaveLength(0);
    expect((await choose(id, { page: 'p1' })).status).toBe(200);
  });

  test('is the same when it is chosen twice, also at once; another page is 409 [S133]', async () => {
    const id = await pending();
    const answers = await Promise.all(Array.from({ length: 5 }, () => choose(id, { page: 'p1' })));
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, { success: true }]));
    expect((await choose(id, { page: 'p1' })).body).toEqual({ success: true });
    const other = await choose(id, { page: 'p2' });
    expect([other.status, other.body.code]).toEqual([409, 'conflict']);
    expect(await db.sql`select internal_id from channels`).toEqual([{ internal_id: 'p1' }]);
  });

  test('of two pages that are chosen at once one is connected [S133]', async () => {
    const id = await pending();
    const answers = await Promise.all(['p1', 'p2'].map((page) => choose(id, { page })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(await db.sql`select 1 from channels`).toHaveLength(1);
  });

  test('logs in the channel that a page has already, by whoever may change channels [S133, S246]', async () => {
    const id = await connected('p1');
    await needLogin(id);
    const again = await pending();
    expect((await choose(again, { page: 'p1' })).body).toEqual({ success: true });
    expect((await choose(again, { page: 'p1' })).body).toEqual({ success: true });
    expect(await listed()).toEqual([expect.objectContaining({ id, refreshNeeded: false })]);
  });

  test('lists its pages again by the function `pages`, with a renewed token [S133, S140]', async () => {
    const id = await pending();
    network.tokens.clear();
    await age('channel_choices', id, 3_600);
    network.pages.push({ id: 'p3', name: 'Florist' });
    const { status, body } = await pagesOf(id);
    expect([status, body.map((page: { id: string }) => page.id)]).toEqual([200, ['p1', 'p2', 'p3']]);
    network.tokens.clear(); // refused before its time: renewed once
    expect((await choose(id, { page: 'p3' })).status).toBe(200);
    expect((await pagesOf(id)).status).toBe(404);
  });

  test('stands while the network is away, and says so [S133]', async () => {
    network.pagesStatus = 503;
    const { status, body } = await logIn();
    expect([status, body.inBetweenSteps, body.pages]).toEqual([200, true, undefined]);
    const away = await pagesOf(body.id);
    expect([away.status, away.body.code]).toEqual([502, 'provider_failed']);
    expect((await choose(body.id, { page: 'p1' })).status).toBe(502);
    network.pagesStatus = 200;
    expect((await choose(body.id, { page: 'p1' })).status).toBe(200);
  });

  test('that the network ends meanwhile is 400 with its name, and gone', async () => {
    const id = await pending();
    network.tokens.clear();
    network.refreshTokens.clear();
    const ended = await pagesOf(id);
    expect([ended.status, ended.body.provider]).toEqual([400, 'paged']);
    expect((await choose(id, { page: 'p1' })).status).toBe(404);
    expect(await listed()).toEqual([]);
  });

  test('can be given up, and expires after a day [S133]', async () => {
    const [given, old] = [await pending(), await pending()];
    expect((await ann.client.delete(`/integrations/${given}`)).body).toEqual({ id: given });
    expect((await choose(given, { page: 'p1' })).status).toBe(404);
    const [{ hours }] = await db.sql<[{ hours: number }]>`
      select extract(epoch from expires_at - now()) / 3600 as hours from channel_choices`;
    expect(Math.round(hours)).toBe(24);
    await db.sql`update channel_choices set expires_at = now() - interval '1 second'`;
    expect((await choose(old, { page: 'p1' })).status).toBe(404);
    expect((await pagesOf(old)).status).toBe(404);
    expect(await listed()).toEqual([]);
    const fresh = await pending();
    const sweep = app.context.sweeps.find(({ name }) => name === 'choices')!;
    expect(await sweep.run(10)).toBe(1);
    expect(await db.sql`select id from channel_choices`).toEqual([{ id: fresh }]);
  });

  test('is seen and ended by the person who logged in alone [S133]', async () => {
    const id = await pending();
    const role = { showorg: ann.orgId };
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${ben.userId}, 'admin')`;
    for (const headers of [{}, role]) {
      expect((await ben.client.get(`/integrations/${id}`, headers)).status).toBe(404);
      expect((await ben.client.get('/integrations/list', headers)).body.integrations).toEqual([]);
      expect((await ben.client.post('/integrations/function', { id, name: 'pages' }, headers)).status).toBe(404);
      const path = `/integrations/provider/${id}/connect`;
      expect((await ben.client.post(path, { page: 'p1' }, headers)).status).toBe(404);
      expect((await ben.client.delete(`/integrations/${id}`, undefined, headers)).status).toBe(404);
    }
    for (const unknown of [newId(), 'x']) expect((await choose(unknown, { page: 'p1' })).status).toBe(404);
    expect((await listed()).map((one) => one.id)).toEqual([id]);
    await pending({ ...ben, client: Object.assign(ben.client, { headers: role }) });
    ben.client.headers = {};
    await db.sql`delete from memberships where org_id = ${ann.orgId} and user_id = ${ben.userId}`;
    expect(await db.sql`select user_id from channel_choices`).toEqual([{ user_id: ann.userId }]);
  });

  test('is held against the limit of channels when its page is chosen [S133, LM11]', async () => {
    await connected('p1');
    await override(db.sql, ann.orgId, { channel: 1 });
    const id = await pending();
    const full = await choose(id, { page: 'p2' });
    expect([full.status, full.body]).toEqual([402, expect.objectContaining({ limit: 'channel', max: 1 })]);
    expect(await channelsUsed()).toBe(1);
    await override(db.sql, ann.orgId, { channel: 2 });
    expect((await choose(id, { page: 'p2' })).status).toBe(200);
    expect(await channelsUsed()).toBe(2);
  });

  test('is sealed at rest, and gone once a page is chosen [S133, SC2]', async () => {
    const id = await pending();
    const dump = async () =>
      JSON.stringify([await db.sql`select * from channel_choices`, await db.sql`select * from channels`]);
    const [row] = await db.sql`select credentials from channel_choices`;
    expect(row!['credentials']).toMatch(/^v2:/);
    expect(app.context.vault.open(row!['credentials'] as string)).toMatch(/refresh-\d+-secret/);
    expect(await dump()).not.toMatch(/-secret/);
    await choose(id, { page: 'p1' });
    expect(await db.sql`select credentials from channel_choices`).toEqual([{ credentials: null }]);
    expect(await dump()).not.toMatch(/-secret/);
  });
});

describe('a channel of a page that is logged in again', () => {
  test('keeps its page without a second step [S133, S135]', async () => {
    const id = await connected('p2');
    await needLogin(id);
    const { status, body } = await logIn(ann, id);
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ id, internalId: 'p2', inBetweenSteps: false, refreshNeeded: false }),
    ]);
    expect(body.pages).toBeUndefined();
    expect(await db.sql`select 1 from channel_choices where page is null`).toHaveLength(0);
  });

  test('is refused where the login does not offer the page any more [S133, S135]', async () => {
    const id = await connected('p2');
    await needLogin(id);
    network.pages = [{ id: 'p1', name: 'Bakery' }];
    const refused = await logIn(ann, id);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.message).toMatch(/no access to the page/);
    expect((await listed())[0]).toMatchObject({ id, refreshNeeded: true });
  });
});
