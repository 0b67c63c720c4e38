import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startActors } from '../../../../actors/host/start.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { note } from '../../../support/processes/chaos.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import {
  admit,
  newPost,
  openNetwork,
  openPublishing,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { settles } from '../../../support/wire/settles.ts';

// A reminder only says when to look: where it is lost, the rows say the same, and a round of the reconciler finds them.

const FAILURES = 10;
const HOUR_MS = 3_600_000;
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

/** Everything of these channels fell due so long ago, and was registered by then. */
const isOverdue = async (orgId: string) => {
  await db.sql`
    update posts
    set publish_date = now() - interval '6 s', due_at = now() - interval '6 s'
    where org_id = ${orgId} and state = 'QUEUE'`;
  await db.sql`
    update channels
    set next_due_at = now() - interval '6 s', reminder_due_at = now() - interval '6 s'
    where org_id = ${orgId}`;
};
const lookUpsOf = (orgId: string) => db.sql`
  update posts set look_up_at = now() - interval '6 s' where org_id = ${orgId} and detail = 'unconfirmed'`;

describe('a reminder whose callback fails', () => {
  let world: Publisher;
  const network = openNetwork();
  beforeAll(async () => (world = await startPublisher({ url: db.url, network })));
  afterAll(() => world[Symbol.asyncDispose]());

  test(`${FAILURES} times delays its post, which is published once [R6]`, async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId, { publishDate: systemClock.in(HOUR_MS) });
    await admit(world, orgId, [post]);
    const { posts } = world.context;
    const { claimNext } = posts;
    let failures = 0;
    Object.assign(posts, {
      claimNext(...key: Parameters<typeof claimNext>) {
        if (failures === FAILURES) return claimNext(...key);
        failures += 1;
        throw new Error('the callback fails');
      },
    });
    for (let round = 1; round <= FAILURES; round++) {
      await isOverdue(orgId);
      expect(await world.reconciler.sweep()).toMatchObject({ woken: 1 });
      await settles(() => expect(failures).toBe(round));
      expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', attempt: 0 });
    }
    await isOverdue(orgId);
    await world.reconciler.sweep();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
    expect(network.taken.map(({ postId }) => postId)).toEqual([post.id]);
  });

  test(`${FAILURES} times delays a look-up, and the post is not sent again [R6]`, async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId);
    let failures = 0;
    network.taken.length = 0;
    network.settlesWithinMs = 0;
    network.behave = async (_post, _sent, accept) => {
      accept();
      throw new Error('the answer is lost');
    };
    network.find = async ({ id }) => {
      if (failures++ < FAILURES) throw new Error('the look-up fails');
      return { id: `r-${id}`, url: '' };
    };
    await admit(world, orgId, [post]);
    await settles(async () => {
      await db.sql`delete from actor_reminders`;
      await lookUpsOf(orgId);
      await world.reconciler.sweep();
      expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
    });
    expect(failures).toBe(FAILURES + 1);
    expect(network.taken.map(({ postId }) => postId)).toEqual([post.id]);
  });
});

test('posts whose reminders are deleted while no host runs are found by the rounds of the next one [R6]', async () => {
  const network = openNetwork();
  const { orgId, channelIds } = await seedOrg(db.sql, 20);
  const posts = channelIds.map((channelId) => newPost(channelId, { publishDate: systemClock.in(HOUR_MS) }));
  {
    await using before = await startPublisher({ url: db.url, network });
    await Promise.all(posts.map((post) => admit(before, orgId, [post])));
  }
  expect((await db.sql`delete from actor_reminders returning id`).length).toBeGreaterThanOrEqual(posts.length);
  await isOverdue(orgId);
  await using context = await openPublishing({ url: db.url, network });
  const from = performance.now();
  await using _ = await startActors(context);
  await settled(db.sql, orgId);
  note({ posts: posts.length, foundAfterMs: Math.round(performance.now() - from) });
  expect(network.taken.map(({ postId }) => postId).toSorted()).toEqual(posts.map(({ id }) => id).toSorted());
});
