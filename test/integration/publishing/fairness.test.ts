import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Fragment } from '../../../src/platform/db/index.ts';
import { findDueLooks } from '../../../src/publishing/follow-ups/looks-store.ts';
import { emptyTables, testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { gate } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { belowPosts, followUpsOf } from '../../support/worlds/publishing/follow-ups.ts';
import {
  admit,
  newPost,
  openNetwork,
  openPublishing,
  seedOrg,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

// One organization has thousands of things waiting, and another one, which came last: that is dealt with next.

const FLOOD = 10_000;
/** What a scan finds at a time here. */
const PAGE = 50;
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());
afterEach(async () => emptyTables(db.sql, 'organizations', 'actor_reminders'));

/** Rows of an organization: so many, due so many seconds ago. */
interface Waiting {
  orgId: string;
  channelId: string;
  count: number;
  secondsAgo: number;
}
type Context = Awaited<ReturnType<typeof openPublishing>>;
interface Kind {
  what: string;
  seed(waiting: Waiting): Promise<unknown>;
  /** The organizations of what a scan finds, in its order. */
  find(context: Context): Promise<string[]>;
}

const ago = (seconds: number) => db.sql`now() - ${seconds}::float8 * interval '1 s'`;
const orgsOf = (found: readonly { orgId: string }[]) => found.map(({ orgId }) => orgId);
const insertPosts = (
  { orgId, channelId, count }: Waiting,
  { detail, date, lookUpAt = db.sql`null` }: { detail: string; date: Fragment; lookUpAt?: Fragment },
) => db.sql`
  insert into posts (id, org_id, channel_id, group_id, state, detail, content, media, publish_date, due_at, look_up_at)
  select gen_random_uuid(), ${orgId}, ${channelId}, 'g', 'QUEUE', ${detail}, 'x',
    '[{"path": "https://outside.example/a.png", "alt": ""}]', ${date}, ${date}, ${lookUpAt}
  from generate_series(1, ${count})`;

const kinds: Kind[] = [
  {
    what: 'channels that are due',
    seed: ({ orgId, count, secondsAgo }) => db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, next_due_at)
      select gen_random_uuid(), ${orgId}, 'fake', 'v1', n::text, 'Channel', 'v2:', ${ago(secondsAgo)}
      from generate_series(1, ${count}) n`,
    find: async ({ posts }) => orgsOf(await posts.sweeps.overdue(PAGE)),
  },
  {
    what: 'posts that a network is to be asked for',
    seed: (waiting) =>
      insertPosts(waiting, {
        detail: 'unconfirmed',
        date: ago(waiting.secondsAgo),
        lookUpAt: ago(waiting.secondsAgo),
      }),
    find: async ({ posts }) => orgsOf(await posts.sweeps.unasked(PAGE)),
  },
  {
    what: 'posts whose media are fetched ahead',
    seed: (waiting) => insertPosts(waiting, { detail: 'scheduled', date: ago(waiting.secondsAgo - 600) }),
    find: async ({ posts }) => orgsOf(await posts.sweeps.pending(PAGE)),
  },
  {
    what: 'series that go on',
    seed: ({ orgId, channelId, count, secondsAgo }) => db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, recurrence)
      select gen_random_uuid(), ${orgId}, ${channelId}, 'g', 'PUBLISHED', 'x', ${ago(secondsAgo)}, '{}'
      from generate_series(1, ${count})`,
    find: async ({ posts }) => orgsOf(await posts.sweeps.pending(PAGE)),
  },
  {
    what: 'posts of series that wait for room in the plan',
    seed: ({ orgId, channelId, count, secondsAgo }) => db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, error_kind, content, publish_date, look_up_at)
      select gen_random_uuid(), ${orgId}, ${channelId}, 'g', 'QUEUE', 'paused', 'billing_required', 'x', now(),
        ${ago(secondsAgo)}
      from generate_series(1, ${count})`,
    find: async ({ posts }) => orgsOf(await posts.sweeps.pending(PAGE)),
  },
  {
    what: 'follow-ups',
    seed: async ({ orgId, channelId, count, secondsAgo }) => db.sql`
      with published as (
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, release_id)
        select gen_random_uuid(), ${orgId}, ${channelId}, 'g', 'PUBLISHED', 'x', now(), 'r'
        from generate_series(1, ${count})
        returning id
      )
      insert into post_follow_ups (org_id, post_id, kind, channel_id, due_at)
      select ${orgId}, id, 'first_comment', ${channelId}, ${ago(secondsAgo)}
      from published`,
    find: async ({ followUps }) => orgsOf(await followUps.overdueFollowUps(PAGE)),
  },
  {
    what: 'channels whose auto plugs look at their posts',
    seed: ({ orgId, count, secondsAgo }) => db.sql`
      with plugged as (
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        select gen_random_uuid(), ${orgId}, 'fake', 'v1', n::text, 'Channel', 'v2:'
        from generate_series(1, ${count}) n
        returning id
      )
      insert into plug_configurations (id, org_id, channel_id, plug_function, fields, next_run_at)
      select gen_random_uuid(), ${orgId}, id, 'fake-auto-repost', '[]', ${ago(secondsAgo)}
      from plugged`,
    find: async ({ sql }) => orgsOf(await findDueLooks(sql, PAGE)),
  },
  {
    what: 'webhooks with deliveries',
    seed: ({ orgId, count, secondsAgo }) => db.sql`
      insert into webhooks (id, org_id, name, url, due_at)
      select gen_random_uuid(), ${orgId}, 'Hook', 'https://hook.test/', ${ago(secondsAgo)}
      from generate_series(1, ${count})`,
    find: async ({ webhooks }) => (await webhooks.overdue(PAGE)).map((key) => key.split(':')[0]!),
  },
];

describe('a scan', () => {
  let context: Context;
  beforeAll(async () => {
    context = await openPublishing({ url: db.url, network: openNetwork(), engine: noEngine });
  });
  afterAll(async () => context[Symbol.asyncDispose]());

  test.each(kinds)('for $what finds that of another organization within the first round', async ({ seed, find }) => {
    const [flood, other] = [await seedOrg(db.sql), await seedOrg(db.sql)];
    await seed({ ...flood, count: FLOOD, secondsAgo: 300 });
    await seed({ ...other, count: 1, secondsAgo: 40 });
    const found = await find(context);
    expect(found).toHaveLength(PAGE);
    expect(found.indexOf(other.orgId)).toBeGreaterThanOrEqual(0);
    expect(found.indexOf(other.orgId)).toBeLessThanOrEqual(1);
  });
});

describe('while all that one organization may have under way hangs, each at a server of its own', () => {
  const WAITING = 200;
  const seedFlood = () => seedOrg(db.sql, WAITING, (channelId) => `https://${channelId}.example`);

  test('a post of another organization is sent at once', async () => {
    const network = openNetwork();
    const open = gate();
    network.behave = async (_post, _sent, accept) => {
      await open.passed;
      return accept();
    };
    await using world = await startPublisher({ url: db.url, network, env: { PROVIDER_CALLS_IN_FLIGHT: '8' } });
    const [flood, other] = [await seedFlood(), await seedOrg(db.sql)];
    for (const channelId of flood.channelIds) await admit(world, flood.orgId, [newPost(channelId)]);
    await settles(() => expect(world.posts.gauges).toEqual({ inFlight: 4, waiting: WAITING - 4 }));
    await admit(world, other.orgId, [newPost(other.channelId)]);
    await settles(() => expect(network.asked.map(({ channelId }) => channelId)).toContain(other.channelId));
    expect(network.asked).toHaveLength(5);
    expect(network.taken).toEqual([]);
    open.open();
    await settles(() => expect(network.taken).toHaveLength(WAITING + 1));
  });

  test('a follow-up of another organization is made at once', async () => {
    const network = openNetwork();
    const below = belowPosts(network);
    const open = gate();
    below.behave = async (_asked, accept) => {
      await open.passed;
      return accept();
    };
    await using world = await startPublisher({ url: db.url, network, env: { PROVIDER_CALLS_IN_FLIGHT: '8' } });
    const [flood, other] = [await seedFlood(), await seedOrg(db.sql)];
    const publish = async (orgId: string, channelId: string) => {
      const post = newPost(channelId, { settings: { firstComment: 'First' } });
      await admit(world, orgId, [post]);
      return post.id;
    };
    for (const channelId of flood.channelIds) await publish(flood.orgId, channelId);
    await settles(async () =>
      expect(await db.sql`select from post_follow_ups where state = 'sending'`).toHaveLength(WAITING),
    );
    await settles(() => expect(below.asked).toHaveLength(2)); // half of the places of follow-ups
    const postId = await publish(other.orgId, other.channelId);
    await settles(() => expect(below.asked.map(({ account }) => account)).toContain(other.channelId));
    expect(below.asked).toHaveLength(3);
    expect(below.made).toEqual([]);
    open.open();
    await settles(async () => expect((await followUpsOf(db.sql, postId))[0]).toMatchObject({ state: 'done' }));
    await settles(() => expect(below.made).toHaveLength(WAITING + 1));
  });
});
