import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Publisher,
  seedOrg,
  startPublisher,
} from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
  world = await startPublisher({ url: db.url, network: openNetwork() });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const inADay = systemClock.in(86_400_000);
let org: Awaited<ReturnType<typeof seedOrg>>;
let root: ReturnType<typeof newPost>;
beforeEach(async () => {
  org = await seedOrg(db.sql);
  root = newPost(org.channelId, { publishDate: inADay });
  await admit(world, org.orgId, [root]);
});

/**
 * Starts one after the other while the channel is held, so that each has looked at the posts before the first of them
 * changed any.
 */
async function together(...work: (() => Promise<unknown>)[]): Promise<PromiseSettledResult<unknown>[]> {
  const started: Promise<unknown>[] = [];
  const waiting = async () =>
    (await db.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).length;
  await db.sql.begin(async (tx) => {
    await tx`select from channels where id = ${org.channelId} for update`;
    for (const start of work) {
      started.push(start());
      await eventually('it waits for the channel', async () => (await waiting()) === started.length);
    }
  });
  return Promise.allSettled(started);
}
const item = (content: string) => ({ id: newId(), content, media: [], delayMinutes: 0 });
const grow = () => world.posts.editPost(org.orgId, root.id, { thread: [item('one'), item('two')] });
const alive = () =>
  db.sql`
    select content, state, publish_date as date
    from posts
    where org_id = ${org.orgId} and deleted_at is null
    order by seq`.then((rows) => rows.map((row) => ({ ...row })));
const done = { status: 'fulfilled' };

test.each([
  ['the post', () => world.posts.removePost(org.orgId, root.id)],
  ['its group', () => world.posts.removeGroup(org.orgId, root.group)],
])('an edit that adds items behind a post leaves none of them when %s is deleted meanwhile [T3]', async (_, remove) => {
  expect(await together(grow, remove)).toMatchObject([done, done]);
  expect(await alive()).toEqual([]);
});

test('an edit of a whole thread also changes items that a concurrent edit adds to it', async () => {
  const later = systemClock.in(2 * 86_400_000);
  expect(await together(grow, () => world.posts.editPost(org.orgId, root.id, { publishDate: later }))).toMatchObject([
    done,
    done,
  ]);
  expect(await alive()).toEqual(
    ['<p>Hi</p>', 'one', 'two'].map((content) => ({ content, state: 'QUEUE', date: later })),
  );
});
