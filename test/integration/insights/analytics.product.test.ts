import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sealCredentials } from '../../../src/publishing/channels/credentials.ts';
import { tokenOf } from '../../../sandbox/rules.ts';
import { startSandbox } from '../../../sandbox/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { collectAll, daysAgo, gapsOf, seedPost } from '../../support/worlds/analytics.ts';
import { noEngine } from '../../support/worlds/app.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { openPublishing, seedOrg } from '../../support/worlds/publishing/world.ts';

// Numbers from the network to the reader, over the wire, as a user runs the product.

describe('the sandbox network', () => {
  let sandbox: Awaited<ReturnType<typeof startSandbox>>;
  let sandboxDb: Awaited<ReturnType<typeof testDatabase>>;
  let product: Product;
  let ann: SignedUp;
  beforeAll(async () => {
    sandboxDb = await testDatabase();
    sandbox = await startSandbox({ sql: sandboxDb.sql });
    product = await wholeProduct({ sandboxUrl: sandbox.url });
    ann = await product.signUp();
  });
  afterAll(async () => {
    await product?.[Symbol.asyncDispose]();
    await sandbox?.[Symbol.asyncDispose]();
    await sandboxDb?.[Symbol.asyncDispose]();
  });

  test('tells what became of a post, which is read in the night and shown by key [S182, S183, S185, PA2]', async () => {
    const { sql } = product.db;
    const key = await ann.withKey();
    const connect = { fields: { name: 'Net' }, allowPreview: true };
    const channel = (await ann.client.post('/integrations/social-connect/sandbox', connect)).body.id as string;
    const body = { type: 'now', date: new Date().toISOString(), shortLink: false, tags: [] };
    const created = await key.post('/public/v1/posts', {
      ...body,
      posts: [{ integration: { id: channel }, value: [{ content: 'Hi' }], settings: {} }],
    });
    const id = created.body[0].postId as string;
    await settles(async () => expect((await key.get(`/public/v1/posts/${id}`)).body.state).toBe('PUBLISHED'));
    const { releaseId } = (await key.get(`/public/v1/posts/${id}`)).body;
    for (const who of ['jan', 'eve'])
      await fetch(`${sandbox.url}/posts/${releaseId}/likes`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokenOf(who, 1)}` },
      });
    await sql`
      update posts set published_at = ${`${daysAgo(1)}T12:00:00Z`} where id = ${id}`; // it went out yesterday
    await collectAll(product.context);
    const date = daysAgo(1);
    const series = (label: string, total: string) => ({ label, data: [{ total, date }], percentageChange: 0 });
    await settles(async () =>
      expect((await key.get(`/public/v1/analytics/${channel}?date=30`)).body).toEqual([
        series('Likes', '2'),
        series('Comments', '0'),
        series('Reposts', '0'),
        series('Followers', '2'),
        series('Posts', '1'),
      ]),
    );
    expect((await key.get(`/public/v1/analytics/post/${id}`)).body).toEqual([
      series('Likes', '2'),
      series('Comments', '0'),
      series('Reposts', '0'),
    ]);
    await sandbox[Symbol.asyncDispose](); // reading needs no network
    expect((await key.get(`/public/v1/analytics/${channel}`)).status).toBe(200);
  });
});

describe('X', () => {
  let gaps: Awaited<ReturnType<typeof gapsOf>>;
  /** What X is asked in one night of a channel with so many posts, under these settings. */
  async function askedOf(posts: number, env: Record<string, string>): Promise<string[]> {
    await using db = await testDatabase();
    await using x = await startReceiver({
      answer: (response, { path }) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(
            JSON.stringify(
              path.includes('/users/me')
                ? { data: { id: 'u1', name: 'Acme', username: 'acme', public_metrics: { followers_count: 5 } } }
                : { data: [] },
            ),
          ),
    });
    await using world = await openPublishing({ url: db.url, engine: noEngine, env, servers: { 'social/x': x.url } });
    const { orgId, channelId } = await seedOrg(db.sql);
    const login = { account: 'u1', values: {}, tokens: { accessToken: 'the-token' }, grantedAt: new Date() };
    await db.sql`
      update channels set provider_id = 'x', credentials = ${sealCredentials(world.vault, login)}
      where id = ${channelId}`;
    for (let n = 0; n < posts; n++)
      await seedPost(db.sql, { orgId, channelId, ago: 1 + (n % 30), release: `${20_000 + n}` });
    await collectAll(world);
    gaps = await gapsOf(db.sql, channelId);
    return x.ledger.map(({ path }) => path.replace(/\?.*/, ''));
  }

  test('is asked for the channel and for its posts, a hundred at once, ten times at most or as often as X_ANALYTICS_MAX_PAGE_DEPTH says [AN5]', async () => {
    expect([await askedOf(250, {}), gaps]).toEqual([['/users/me', '/tweets', '/tweets', '/tweets'], []]);
    expect(await askedOf(250, { X_ANALYTICS_MAX_PAGE_DEPTH: '2' })).toEqual(['/users/me', '/tweets', '/tweets']);
    expect(gaps).toEqual([{ date: daysAgo(1), reason: 'Only 200 posts are read on one day, and it has more' }]);
    expect(await askedOf(1_001, {})).toEqual(['/users/me', ...Array.from({ length: 10 }, () => '/tweets')]);
  });

  test('is not asked at all with DISABLE_X_ANALYTICS [DE37]', async () => {
    expect(await askedOf(1, { DISABLE_X_ANALYTICS: 'true' })).toEqual([]);
    expect(await askedOf(1, { DISABLE_X_ANALYTICS: 'false' })).toEqual(['/users/me', '/tweets']);
  });
});
