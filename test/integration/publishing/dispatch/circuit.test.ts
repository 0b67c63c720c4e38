import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ProviderError } from '../../../../src/platform/kernel/index.ts';
import { emptyTables, testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { settles } from '../../../support/wire/settles.ts';
import { belowPosts } from '../../../support/worlds/publishing/follow-ups.ts';
import {
  admit,
  newPost,
  type Network,
  openNetwork,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

const isDown = (): Promise<never> => Promise.reject(new ProviderError('unavailable', 'The network is down'));
async function start(network: Network = openNetwork()) {
  await emptyTables(db.sql, 'organizations', 'circuits', 'outbox');
  const world = await startPublisher({ url: db.url, network });
  return { world, network, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
/** Posts that are due, each on a channel of its own. */
async function publishEach(world: Publisher, orgId: string, channelIds: readonly string[]): Promise<string[]> {
  const posts = channelIds.map((channelId) => newPost(channelId));
  for (const post of posts) await admit(world, orgId, [post]);
  return posts.map(({ id }) => id);
}
const circuits = () =>
  db.sql<{ lane: string; failedProbes: number; probeInMs: number; isProbing: boolean }[]>`
    select lane, failed_probes as "failedProbes", extract(epoch from probe_at - now())::float8 * 1000 as "probeInMs",
      coalesce(probing_until > now(), false) as "isProbing"
    from circuits
    order by lane`;
const kinds = async (postId: string) =>
  (await db.sql<{ kind: string }[]>`select kind from post_timeline where post_id = ${postId} order by id`).map(
    ({ kind }) => kind,
  );
const failuresOf = async (postId: string) =>
  (await db.sql<{ n: number }[]>`select attempts_failed as n from posts where id = ${postId}`)[0]!.n;
const waits = (postId: string) =>
  settles(async () => {
    expect((await kinds(postId)).at(-1)).toBe('circuit_open');
    expect(await stateOf(db.sql, postId)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', error: null });
  });
/** As when the time of the next probe, and of everything that waits for it, has come. */
async function timeComes(world: Publisher) {
  await db.sql`update circuits set probe_at = now()`;
  await db.sql`update posts set due_at = now() where state = 'QUEUE' and deleted_at is null`;
  await db.sql`
    update channels
    set resting_until = null, next_due_at = now() - interval '1 minute', due_version = due_version + 1`;
  await world.reconciler.sweep();
}
/** A network that is down, with a circuit that has opened for it. */
async function opened() {
  const { world, network, ...running } = await start();
  network.behave = isDown;
  const { orgId, channelIds } = await seedOrg(db.sql, 23);
  const failed = await publishEach(world, orgId, channelIds.slice(0, 20));
  await settles(async () => expect(await circuits()).toHaveLength(1));
  return { world, network, orgId, channelIds, failed, ...running };
}

describe('the circuit of a network', () => {
  test('opens when twenty calls of three channels fail; what is due then waits without an attempt that failed', async () => {
    await using open = await opened();
    const { world, network, orgId, channelIds } = open;
    const [circuit] = await circuits();
    expect(circuit!.lane).toContain('fake');
    expect(circuit!.probeInMs).toBeLessThanOrEqual(15_000);
    expect(circuit!.probeInMs).toBeGreaterThan(5_000);
    const asked = network.asked.length;
    expect(asked).toBe(20);

    const [late] = await publishEach(world, orgId, channelIds.slice(20, 21));
    await waits(late!);
    expect(network.asked).toHaveLength(asked);
    expect(await failuresOf(late!)).toBe(0);
    const [channel] = await db.sql<{ restsMs: number; held: boolean }[]>`
      select extract(epoch from resting_until - now())::float8 * 1000 as "restsMs", slot_incarnation is not null as held
      from channels where id = ${channelIds[20]!}`;
    expect(channel!.held).toBe(false);
    expect(channel!.restsMs).toBeGreaterThan(0); // nothing of it is claimed until then
  });

  test('has one post probe when its time has come, and waits twice as long after each that fails, five minutes at most', async () => {
    await using open = await opened();
    const { world, network, orgId, channelIds } = open;
    const [a, b] = await publishEach(world, orgId, channelIds.slice(20, 22));
    await waits(a!);
    await waits(b!);
    for (const [n, waitMs] of [30_000, 60_000, 120_000, 240_000, 300_000, 300_000].entries()) {
      const asked = network.asked.length;
      await timeComes(world);
      await settles(async () => expect((await circuits())[0]).toMatchObject({ failedProbes: n + 1, isProbing: false }));
      const [circuit] = await circuits();
      expect(circuit!.probeInMs).toBeLessThanOrEqual(waitMs);
      expect(circuit!.probeInMs).toBeGreaterThan(waitMs - 10_000);
      await settles(async () =>
        expect(await db.sql`select from channels where slot_incarnation is not null`).toHaveLength(0),
      );
      expect(network.asked).toHaveLength(asked + 1);
    }
  });

  test('has posts wait as long again as a probe has lasted that hangs', async () => {
    await using open = await opened();
    const { world, orgId, channelIds } = open;
    await db.sql`update circuits set probe_at = now(), probing_until = now() + interval '40 s'`; // begun 25 s ago
    const [id] = await publishEach(world, orgId, channelIds.slice(20, 21));
    await waits(id!);
    const [channel] = await db.sql<{ restsMs: number }[]>`
      select extract(epoch from resting_until - now())::float8 * 1000 as "restsMs"
      from channels where id = ${channelIds[20]!}`;
    expect(channel!.restsMs).toBeGreaterThan(15_000);
    expect(channel!.restsMs).toBeLessThanOrEqual(40_000);
  });

  test('closes with the first success, for all hosts, and lets calls back one, two, four at a time', async () => {
    await using open = await opened();
    const { world, network, orgId, channelIds, failed } = open;
    const late = await publishEach(world, orgId, channelIds.slice(20));
    for (const id of late) await waits(id);
    let now = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    network.behave = async (_post, _sent, accept) => {
      most = Math.max(most, ++now);
      await new Promise<void>((done) => gates.push(done));
      now -= 1;
      return accept();
    };
    await timeComes(world);
    await settles(() => expect(gates).toHaveLength(1)); // the probe, and nobody beside it
    expect(await circuits()).toMatchObject([{ isProbing: true }]);
    gates.shift()!();
    await settles(async () => expect(await circuits()).toEqual([]));

    await timeComes(world);
    await settles(() => expect(gates.length).toBeGreaterThan(0));
    await settles(async () =>
      expect((await db.sql`select from channels where slot_incarnation is not null`).length).toBe(gates.length),
    );
    expect(most).toBeLessThanOrEqual(2); // 1 was allowed, and the probe has doubled it
    network.behave = undefined;
    for (const go of gates.splice(0)) go();
    await settles(async () => {
      await timeComes(world);
      for (const id of [...late, ...failed]) expect(await stateOf(db.sql, id)).toMatchObject({ state: 'PUBLISHED' });
    });
    await settled(db.sql, orgId);
    expect(network.taken).toHaveLength(23); // each once
  });

  test('is obeyed by a host that has seen few failures itself, from its second call on', async () => {
    await using open = await opened();
    const { orgId, channelIds, network } = open;
    await open.world[Symbol.asyncDispose]();
    await using other = await startPublisher({ url: db.url, network });
    const asked = network.asked.length;
    const [first] = await publishEach(other, orgId, channelIds.slice(20, 21));
    await settles(async () => expect((await kinds(first!)).at(-1)).toBe('retry_planned'));
    const [second] = await publishEach(other, orgId, channelIds.slice(21, 22));
    await waits(second!);
    expect(network.asked).toHaveLength(asked + 1);
  });

  test('holds a post for a day at most: then it goes out, and ends by its own attempts', async () => {
    await using open = await opened();
    const { world, network, orgId, channelIds } = open;
    const asked = network.asked.length;
    const [id] = await publishEach(world, orgId, channelIds.slice(20, 21));
    await waits(id!);
    const comesAgain = async () => {
      await db.sql`update circuits set probe_at = now() + interval '5 minutes'`;
      await db.sql`update posts set due_at = now() where id = ${id!}`;
      await db.sql`
        update channels
        set resting_until = null, next_due_at = now() - interval '1 minute', due_version = due_version + 1
        where id = ${channelIds[20]!}`;
      await world.reconciler.sweep();
    };
    // its date says nothing: a brake may have held it for days
    await db.sql`update posts set publish_date = now() - interval '25 hours' where id = ${id!}`;
    await comesAgain();
    await settles(async () => expect((await kinds(id!)).filter((kind) => kind === 'circuit_open')).toHaveLength(2));
    expect(network.asked).toHaveLength(asked);

    await db.sql`
      update post_timeline set at = now() - interval '25 hours' where post_id = ${id!} and kind = 'circuit_open'`;
    await comesAgain();
    await settles(async () => expect((await kinds(id!)).at(-1)).toBe('retry_planned'));
    expect(network.asked).toHaveLength(asked + 1);
  });
});

describe('what follows posts', () => {
  /** Published posts with first comments that are due, each in a channel of its own. */
  async function commented(orgId: string, channelIds: readonly string[]): Promise<void> {
    await db.sql`
      with published as (
        insert into posts (id, org_id, channel_id, group_id, state, content, settings, publish_date, published_at,
          release_id)
        select gen_random_uuid(), ${orgId}, c, 'g', 'PUBLISHED', 'x', '{"firstComment": "First"}', now(), now(), 'r'
        from unnest(${[...channelIds]}::uuid[]) c
        returning id, channel_id
      )
      insert into post_follow_ups (org_id, post_id, kind, channel_id, due_at)
      select ${orgId}, id, 'first_comment', channel_id, now() - interval '36 s'
      from published`;
  }
  const followUps = () => db.sql<{ state: string; failures: number; waits: boolean; told: string[] }[]>`
    select state, attempts_failed as failures, coalesce(due_at > now(), false) as waits, array(
        select t.message from post_timeline t where t.post_id = f.post_id and t.kind = 'first_comment' order by t.id
      ) as told
    from post_follow_ups f`;

  test('waits while the circuit is open, without an attempt that failed, and is made when it has closed', async () => {
    await using open = await opened();
    const { world, network, orgId, channelIds } = open;
    const below = belowPosts(network);
    await commented(orgId, channelIds.slice(20, 21));
    await world.reconciler.sweep();
    await settles(async () =>
      expect(await followUps()).toEqual([
        { state: 'waiting', failures: 0, waits: true, told: ['The network answers nobody at present'] },
      ]),
    );
    expect(below.asked).toEqual([]);
    network.behave = undefined;
    await settles(async () => {
      await timeComes(world);
      expect(await circuits()).toEqual([]);
    });
    await settles(async () => {
      await db.sql`update post_follow_ups set due_at = now() - interval '36 s' where incarnation is null and due_at > now()`;
      await world.reconciler.sweep();
      expect(await followUps()).toMatchObject([{ state: 'done', failures: 0 }]);
    });
    expect(below.made).toHaveLength(1);
  });

  test('that has waited for a day is tried all the same, and ends by its own attempts', async () => {
    await using open = await opened();
    const { world, network, orgId, channelIds } = open;
    const below = belowPosts(network);
    below.behave = isDown;
    await commented(orgId, channelIds.slice(20, 21));
    await world.reconciler.sweep();
    await settles(async () => expect(await followUps()).toMatchObject([{ state: 'waiting', waits: true }]));
    await db.sql`update circuits set probe_at = now() + interval '5 minutes'`;
    const sweepAgain = async () => {
      await db.sql`update post_follow_ups set due_at = now() - interval '36 s' where incarnation is null and due_at > now()`;
      await world.reconciler.sweep();
    };
    await db.sql`update post_follow_ups set circuit_since = now() - interval '23 hours'`;
    await sweepAgain();
    await settles(async () => expect(await followUps()).toMatchObject([{ failures: 0, waits: true }]));
    expect(below.asked).toEqual([]);
    await db.sql`update post_follow_ups set circuit_since = now() - interval '25 hours'`;
    await settles(async () => {
      await sweepAgain();
      expect(await followUps()).toMatchObject([{ state: 'failed', failures: 4 }]);
    });
    expect(below.asked).toHaveLength(4);
  });

  test('opens the circuit as posts do, and a failed look-up or reading does not', async () => {
    await using open = await start();
    const { world, network } = open;
    const below = belowPosts(network);
    below.behave = isDown;
    const { orgId, channelIds } = await seedOrg(db.sql, 20);
    const { posts } = world.context;
    const channelOf = async (id: string) =>
      (
        await db.sql<{ channel: never }[]>`
          select json_build_object('id', id, 'orgId', org_id, 'providerId', provider_id, 'providerVersion',
            provider_version, 'internalId', internal_id, 'name', name, 'credentials', credentials, 'settings', settings,
            'tokenExpiresAt', null, 'routeId', null) as channel
          from channels where id = ${id}`
      )[0]!.channel;
    for (const channelId of channelIds) {
      const caller = { orgId, channelId, channel: await channelOf(channelId), heldSince: 0, leaseMs: 120_000 };
      expect(await posts.askWithoutSlot(caller, isDown)).toMatchObject({ kind: 'unavailable' });
      expect(await posts.readWithoutSlot(caller, isDown)).toMatchObject({ kind: 'unavailable' });
    }
    expect(await circuits()).toEqual([]);
    await commented(orgId, channelIds);
    await world.reconciler.sweep();
    await settles(async () => expect(await circuits()).toHaveLength(1));
    expect(below.asked).toHaveLength(20);
  });
});

describe('no circuit opens', () => {
  test.each([
    ['for one account, however often its calls fail', 2, isDown],
    ['where the network refuses', 24, () => Promise.reject(new ProviderError('rejected', 'No'))],
    ['where it says that there were too many', 24, () => Promise.reject(new ProviderError('rate_limited', 'Slower'))],
  ])('%s', async (_, channels, behave) => {
    await using open = await start();
    const { world, network } = open;
    network.behave = behave;
    const { orgId, channelIds } = await seedOrg(db.sql, channels);
    await publishEach(
      world,
      orgId,
      Array.from({ length: 24 }, (_one, n) => channelIds[n % channels]!),
    );
    await settles(() => expect(network.asked.length).toBeGreaterThanOrEqual(24));
    await settles(async () =>
      expect(await db.sql`select from channels where slot_incarnation is not null`).toHaveLength(0),
    );
    expect(await circuits()).toEqual([]);
  });

  test('where one call has succeeded in the last minute', async () => {
    await using open = await start();
    const { world, network } = open;
    const { orgId, channelIds } = await seedOrg(db.sql, 25);
    await publishEach(world, orgId, channelIds.slice(0, 1));
    await settled(db.sql, orgId);
    network.behave = isDown;
    const ids = await publishEach(world, orgId, channelIds.slice(1));
    for (const id of ids) await settles(async () => expect((await kinds(id)).at(-1)).toBe('retry_planned'));
    expect(await circuits()).toEqual([]);
  });
});

test('a circuit that no post asks for is forgotten after a day', async () => {
  await using open = await start();
  await db.sql`
    insert into circuits (provider_id, provider_version, lane, probe_at)
    values ('fake', 'v1', 'old', now() - interval '25 hours'), ('fake', 'v1', 'new', now() - interval '23 hours')`;
  expect(await open.world.posts.sweeps.dropCircuits(10)).toBe(1);
  expect(await circuits()).toMatchObject([{ lane: 'new' }]);
});
