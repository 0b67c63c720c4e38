import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSandbox, type Sandbox } from '../../../sandbox/index.ts';
import sandboxRoutes from '../../../api/resources/sandbox/routes.ts';
import authRoutes from '../../../api/resources/auth/routes.ts';
import userRoutes from '../../../api/resources/user/routes.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { handleOf, localProviders, postOf } from '../../support/worlds/providers.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let network: Sandbox;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  network = await startSandbox({ sql: db.sql });
  app = await testApp({ sql: db.sql, routes: [...authRoutes, ...userRoutes, ...sandboxRoutes] });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await network[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

test('the ledger of a sandbox channel is shown to its organization only, in pages [S243]', async () => {
  const owner = await app.signUp();
  const stranger = await app.signUp();
  const channelId = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channelId}, ${owner.orgId}, 'sandbox', 'v1', 'alice', 'Alice', 'v2:')`;

  await using providers = localProviders({ servers: { 'social/sandbox': network.url } });
  const adapter = providers.resolve('social', 'sandbox', { allowPreview: true });
  const values = { name: 'alice' };
  const social = providers.connect(adapter, {
    values,
    account: 'alice',
    tokens: await providers.signIn(adapter, values),
  });
  const posts = ['One', 'Two', 'Three'].map((text) => ({ ...postOf(text), id: newId() }));
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
    select id, ${owner.orgId}, ${channelId}, id::text, 'PUBLISHED', '', now()
    from unnest(${posts.map(({ id }) => id)}::uuid[]) id`;
  for (const post of posts)
    await social
      .publish(post, post === posts[1] ? { outcome: 'error_after_accept', times: 1 } : {}, handleOf())
      .catch(() => undefined);

  await social.publish({ ...postOf('Of another organization that typed the same name'), id: newId() }, {}, handleOf());

  const first = await owner.client.get(`/sandbox/ledger?integrationId=${channelId}&limit=2`);
  expect(first.status).toBe(200);
  expect(
    first.body.items.map(
      ({ text, accepted, idempotencyKey }: { text: string; accepted: boolean; idempotencyKey: string }) => [
        text,
        accepted,
        idempotencyKey,
      ],
    ),
  ).toEqual([
    ['One', true, posts[0]!.id],
    ['Two', true, posts[1]!.id],
  ]);
  const second = await owner.client.get(
    `/sandbox/ledger?integrationId=${channelId}&limit=2&after=${first.body.nextCursor}`,
  );
  expect(second.body.items).toMatchObject([{ text: 'Three', media: [], accepted: true }]);
  expect(second.body.nextCursor).toBeNull();

  for (const path of [
    `/sandbox/ledger?integrationId=${channelId}`,
    `/sandbox/ledger?integrationId=${newId()}`,
    '/sandbox/ledger?integrationId=x',
  ])
    expect((await stranger.client.get(path)).status).toBe(404);
  expect((await owner.client.get(`/sandbox/ledger?integrationId=${channelId}&after=x`)).body).toMatchObject({
    statusCode: 400,
    errors: [{ field: 'after' }],
  });
  expect((await owner.client.get('/sandbox/ledger')).body).toMatchObject({
    statusCode: 400,
    errors: [{ field: 'integrationId' }],
  });
  expect((await app.client().get(`/sandbox/ledger?integrationId=${channelId}`)).status).toBe(401);
});
