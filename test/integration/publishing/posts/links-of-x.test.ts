import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { readConfig } from '../../../../src/platform/config/index.ts';
import { newId, openVault, systemClock } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { startReceiver } from '../../../support/wire/receiver.ts';
import { JWT_SECRET } from '../../../support/worlds/app.ts';
import { admit, newPost, seedOrg, settled, startPublisher, stateOf } from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

const vault = openVault(readConfig({ JWT_SECRET }).config.secrets.encryptionKey);
const CONTENT = '<p>Read <a href="https://a.example/page">this</a>, or https://b.example/other today</p>';

/** What X is sent, `POST /2/tweets` of its OpenAPI description 2.167, for a post with two links. */
async function sentToX(env: Record<string, string>): Promise<string> {
  await using x = await startReceiver({
    answer: (response) => void response.writeHead(201).end(JSON.stringify({ data: { id: '1', text: '' } })),
  });
  await using world = await startPublisher({
    url: db.url,
    env: { X_CLIENT_ID: 'app', X_CLIENT_SECRET: 'secret', ...env },
    servers: { 'social/x': x.url },
  });
  const { orgId } = await seedOrg(db.sql, 0);
  const channelId = newId();
  const login = sealCredentials(vault, {
    account: '42',
    values: {},
    tokens: { accessToken: 'token' },
    grantedAt: systemClock.now(),
  });
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channelId}, ${orgId}, 'x', 'v1', '42', 'Acme', ${login})`;
  const post = newPost(channelId, { content: CONTENT });
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', releaseId: '1' });
  return (JSON.parse(String(x.ledger.find(({ method }) => method === 'POST')!.body)) as { text: string }).text;
}

test('posts to X go out with their links, and without them where STRIP_LINKS_FROM_X_POSTS is set [DE38]', async () => {
  expect(await sentToX({})).toBe('Read this (https://a.example/page), or https://b.example/other today');
  expect(await sentToX({ STRIP_LINKS_FROM_X_POSTS: 'true' })).toBe('Read this, or today');
});
