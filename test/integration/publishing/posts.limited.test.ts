import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ProviderError, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { admit, newPost, openNetwork, seedOrg, settled, startPublisher } from '../../support/worlds/publishing.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

test('a rate-limited network gets all posts in order, and no more requests than it allows', async () => {
  const network = openNetwork();
  let left = 3;
  network.behave = async (_post, _sent, accept) => {
    if (left-- > 0) return accept();
    left = 3;
    throw new ProviderError('rate_limited', 'slow down', { retryAfterMs: 1_000 });
  };
  await using world = await startPublisher({ url: db.url, network });
  const { orgId, channelId } = await seedOrg(db.sql);
  const due = systemClock.in(500);
  const posts = Array.from({ length: 10 }, () => newPost(channelId, { publishDate: due }));
  await admit(world, orgId, posts);
  await settled(db.sql, orgId, { timeoutMs: 50_000 });
  expect(network.taken.map(({ postId }) => postId)).toEqual(posts.map(({ id }) => id));
  expect(network.asked).toHaveLength(13);
  expect(await db.sql`select from posts where org_id = ${orgId} and state <> 'PUBLISHED'`).toHaveLength(0);
});
