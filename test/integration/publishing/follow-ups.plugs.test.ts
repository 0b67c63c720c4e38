// oxlint-disable max-lines -- one database and one network serve all cases
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, ProviderError } from '../../../src/platform/kernel/index.ts';
import { plugsOf } from '../../../src/providers/social/_plugs.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';
import {
  abandon,
  type BelowPosts,
  belowPosts,
  followUpsOf,
  makeDue,
  told,
} from '../../support/worlds/publishing/follow-ups.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Network,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

// Plugs of posts and of channels, over a network that has all of them.

const HOUR = 3_600_000;
let db: TestDatabase;
let network: Network;
let world: Publisher;
let below: BelowPosts;
beforeAll(async () => {
  db = await testDatabase();
  network = openNetwork();
  world = await startPublisher({ url: db.url, network });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => {
  below = belowPosts(network);
  declare();
});
const declare = (more: object = {}) => {
  const plugs = plugsOf('fake', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']);
  network.declares.plugs = plugs.map((plug) => (plug.kind === 'auto' ? { ...plug, ...more } : plug));
};
const runAutoPlugs = () => world.context.followUps.runAutoPlugs(500);
const failures = async (postId: string) =>
  (
    await db.sql<{ payload: object }[]>`
      select payload from outbox where entity_id = ${postId} and topic = 'plug.failed'`
  ).map(({ payload }) => payload);
const madeBelow = (postId: string) =>
  below.made.filter((one) => one.below === `r-${postId}`).map(({ kind, account, text }) => ({ kind, account, text }));

describe('post plugs', () => {
  test('act once by each picked channel, and one that is gone stops no other, and is told [PO5, PL5, PL12, PL13, S145, NO13]', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 4);
    const [channelId, second, third, gone] = channelIds as [string, string, string, string];
    const settings = {
      'plug--fake-repost-from--active': true,
      'plug--fake-repost-from--integrations': [{ id: second }, { id: third }, { id: second }, { id: gone }],
      'plug--fake-comment-from--active': 'true',
      'plug--fake-comment-from--integrations': [{ id: third }],
      'plug--fake-comment-from--post': 'Well said',
      'plug--fake-off--active': false,
      'plug--fake-off--integrations': [{ id: second }],
    };
    await db.sql`update channels set deleted_at = now(), name = 'Acme Jobs' where id = ${gone}`;
    const [post, other] = [newPost(channelId, { settings }), newPost(channelId)];
    await admit(world, orgId, [post, other]);
    await settled(db.sql, orgId);
    await settles(async () =>
      expect((await followUpsOf(db.sql, post.id)).map(({ state }) => state).toSorted()).toEqual([
        'done',
        'done',
        'done',
        'failed',
      ]),
    );
    expect(madeBelow(post.id).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual(
      [
        { kind: 'comment', account: third, text: 'Well said' },
        { kind: 'repost', account: second, text: '' },
        { kind: 'repost', account: third, text: '' },
      ].toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    );
    expect(below.made.map(({ of }) => of)).toEqual([channelId, channelId, channelId]);
    expect(await told(db.sql, post.id, 'plug')).toEqual(
      expect.arrayContaining(['The channel that should act is not there any more', 'Done']),
    );
    expect(await failures(post.id)).toEqual([
      expect.objectContaining({
        channelId,
        channelName: 'Channel',
        plug: 'Repost from other channels',
        actingName: 'Acme Jobs',
        error: 'The channel that should act is not there any more',
      }),
    ]);
    expect(await followUpsOf(db.sql, other.id)).toEqual([]);
    expect(await db.sql`select from outbox where entity_id = ${post.id} and topic like 'first_comment.%'`).toEqual([]);
  });
});

test('each picked channel acts by values of its own, or by those of all [S145, PL12]', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 3);
  const [channelId, second, third] = channelIds as [string, string, string];
  const settings = {
    'plug--fake-comment-from--active': true,
    'plug--fake-comment-from--integrations': [{ id: second, fields: { post: 'As we said' } }, { id: third }],
    'plug--fake-comment-from--post': 'Well said',
  };
  const post = newPost(channelId, { settings });
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  await settles(() => expect(madeBelow(post.id)).toHaveLength(2));
  expect(new Map(madeBelow(post.id).map(({ account, text }) => [account, text]))).toEqual(
    new Map([
      [second, 'As we said'],
      [third, 'Well said'],
    ]),
  );
});

test('a brake holds what waits, and no look-up; what waits goes on when it is off [S123]', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const [channelId, second] = channelIds as [string, string];
  const settings = {
    'plug--fake-repost-from--active': true,
    'plug--fake-repost-from--integrations': [{ id: second }],
  };
  const [lost, held] = [newPost(channelId, { settings }), newPost(channelId, { settings })];
  await db.sql`update channels set brakes = ${[`campaign:${lost.group}`, `campaign:${held.group}`]} where id = ${second}`;
  await admit(world, orgId, [lost, held]);
  await settled(db.sql, orgId);
  for (const { id } of [lost, held]) {
    await makeDue(world, id);
    expect((await world.context.followUps.claimFollowUps(orgId, id)).claimed).toEqual([]);
  }
  await abandon(db.sql, lost.id);
  const { id } = (await followUpsOf(db.sql, lost.id))[0]!;
  below.made.push({ kind: 'repost', account: second, id, below: `r-${lost.id}`, text: '' });
  await world.reconciler.sweep();
  await settles(async () => expect((await followUpsOf(db.sql, lost.id))[0]).toMatchObject({ state: 'done' }));
  expect(below.asked).toEqual([]);
  await db.sql`update channels set brakes = '{}' where id = ${second}`;
  await makeDue(world, held.id);
  await settles(() => expect(madeBelow(held.id)).toHaveLength(1));
});

test('what waits in a disabled organization goes on when that is enabled [S211]', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const [channelId, second] = channelIds as [string, string];
  const settings = {
    'plug--fake-repost-from--active': true,
    'plug--fake-repost-from--integrations': [{ id: second }],
  };
  const post = newPost(channelId, { settings });
  await db.sql`update channels set brakes = ${[`campaign:${post.group}`]} where id = ${second}`;
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  const { admin, followUps } = world.context;
  const by = { userId: null, impersonatorId: null, ip: null };
  await admin.orgs.change(by, orgId, { disabled: true });
  await db.sql`update channels set brakes = '{}' where id = ${second}`;
  await makeDue(world, post.id);
  expect((await followUps.claimFollowUps(orgId, post.id)).claimed).toEqual([]);
  expect(madeBelow(post.id)).toEqual([]);
  await admin.orgs.change(by, orgId, { disabled: false });
  await makeDue(world, post.id);
  await settles(() => expect(madeBelow(post.id)).toHaveLength(1));
});

test('what a stopped channel may have done is looked up all the same, and nobody can say it of a deleted one [PL12]', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 3);
  const [channelId, second, third] = channelIds as [string, string, string];
  const settings = {
    'plug--fake-repost-from--active': true,
    'plug--fake-repost-from--integrations': [{ id: second }, { id: third }],
  };
  const post = newPost(channelId, { settings });
  const { id: postId } = post;
  await db.sql`update channels set brakes = ${[`campaign:${post.group}`]} where id in (${second}, ${third})`;
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  for (const { id } of await followUpsOf(db.sql, postId))
    below.made.push({ kind: 'repost', account: second, id, below: `r-${postId}`, text: '' });
  await db.sql.begin(async (tx) => {
    await abandon(tx, postId);
    await tx`update channels set disabled = true, brakes = '{}' where id = ${second}`;
    await tx`update channels set deleted_at = now(), brakes = '{}' where id = ${third}`;
  });
  await world.reconciler.sweep();
  const ended = async () =>
    (await followUpsOf(db.sql, postId)).map(({ state, error }) => `${state} ${error}`).toSorted();
  await settles(async () =>
    expect(await ended()).toEqual([
      'done null',
      'failed It may be there, and nobody can say: The channel that should act is not there any more. Look at the network',
    ]),
  );
  expect(below.asked).toEqual([]);
});

describe('auto plugs', () => {
  /** A channel with a configuration, and published posts of these ages in hours. */
  async function channelWith(ages: readonly number[], func = 'fake-auto-comment', likesAmount = '10') {
    const { orgId, channelId } = await seedOrg(db.sql);
    const ids = ages.map(newId);
    for (const [n, id] of ids.entries())
      await db.sql`
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, published_at, release_id)
        values (${id}, ${orgId}, ${channelId}, ${id}, 'PUBLISHED', 'x', now() - interval '30 days',
          now() - ${ages[n]!}::float8 * interval '1 hour', ${`r-${id}`})`;
    const saved = await world.context.followUps.saveConfiguration(orgId, channelId, {
      func,
      fields: [
        { name: 'likesAmount', value: likesAmount },
        ...(func === 'fake-auto-comment' ? [{ name: 'post', value: 'Thank you all' }] : []),
      ],
    });
    return { orgId, channelId, ids, configuration: saved.id };
  }
  /** All but the clock of the network goes back, so that it is as if so many hours had passed. */
  const pass = async (channelId: string, hours: number) => {
    await db.sql`
      update posts set published_at = published_at - ${hours}::float8 * interval '1 hour' where channel_id = ${channelId}`;
    await db.sql`
      update plug_configurations
      set ran_until = ran_until - ${hours}::float8 * interval '1 hour',
        next_run_at = next_run_at - ${hours}::float8 * interval '1 hour'
      where channel_id = ${channelId}`;
  };
  const configurationOf = async (id: string) =>
    (
      await db.sql<{ runs: number; nextInMs: number | null; ran: boolean }[]>`
        select runs::int as runs, last_run_at is not null as ran,
          (extract(epoch from next_run_at - now()) * 1000)::float8 as "nextInMs"
        from plug_configurations where id = ${id}`
    )[0]!;
  const countedPosts = () => below.counted.flat().map((release) => release.slice(2));

  test('looks at a post at its publication plus n intervals, and a late look delays no other [PL1, PL3, PL4, PL10]', async () => {
    const { channelId, ids, configuration } = await channelWith([5.9, 0, 18.1]);
    const [first, second] = ids as [string, string, string];
    await runAutoPlugs();
    expect(countedPosts()).toEqual([]); // no run is due, and the oldest has none left
    const { nextInMs } = await configurationOf(configuration);
    expect(Math.abs(nextInMs! - 0.1 * HOUR)).toBeLessThan(60_000);
    await pass(channelId, 0.5); // 24 minutes late
    await runAutoPlugs();
    expect(countedPosts()).toEqual([first]);
    const next = await configurationOf(configuration);
    // 5.5 hours until the first run of the second post, which is before the second run of the first one
    expect(Math.abs(next.nextInMs! - 5.5 * HOUR)).toBeLessThan(60_000);
    expect(next).toMatchObject({ runs: 1, ran: true });
    await pass(channelId, 5.5);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([first, second]);
    for (let n = 0; n < 6; n++) {
      await pass(channelId, 3);
      await runAutoPlugs();
    }
    // three runs of each, and no more
    expect(countedPosts().filter((id) => id === first)).toHaveLength(3);
    expect(countedPosts().filter((id) => id === second)).toHaveLength(3);
    expect((await configurationOf(configuration)).runs).toBe(6);
  });

  test('acts on a post that has enough likes, once for each configuration [PL8, PL9]', async () => {
    const { channelId, ids } = await channelWith([5.9, 5.9]);
    const [liked] = ids as [string, string];
    below.counts = (release) => ({ likes: release === `r-${liked}` ? 10 : 9 });
    for (let n = 0; n < 3; n++) {
      await runAutoPlugs();
      await pass(channelId, 6);
    }
    await makeDue(world, liked);
    await settles(() => expect(madeBelow(liked)).toHaveLength(1));
    expect(madeBelow(liked)).toEqual([{ kind: 'comment', account: channelId, text: 'Thank you all' }]);
    expect(madeBelow(ids[1]!)).toEqual([]);
    await pass(channelId, 6);
    await runAutoPlugs();
    expect((await followUpsOf(db.sql, liked)).map(({ kind }) => kind)).toEqual(['auto_plug']);
    await settles(async () => expect(await told(db.sql, liked, 'plug')).toEqual(['Done']));
  });

  test('one read of counts serves all plugs of a channel, batched as its network has it [PL3]', async () => {
    const { orgId, channelId, ids } = await channelWith([5.9, 5.9, 5.9]);
    await world.context.followUps.saveConfiguration(orgId, channelId, {
      func: 'fake-auto-repost',
      fields: [{ name: 'likesAmount', value: '1' }],
    });
    await runAutoPlugs();
    await pass(channelId, 0.2);
    network.declares.metricsAtOnce = 2;
    await runAutoPlugs();
    expect(below.counted.map((call) => call.length)).toEqual([2, 1]);
    expect(countedPosts().toSorted()).toEqual(ids.toSorted());
  });

  test('one that is not activated does not run, and nothing is made up for later [PL11, PL17]', async () => {
    const { orgId, channelId, ids, configuration } = await channelWith([5.9]);
    const { followUps } = world.context;
    await followUps.setConfigurationActive(orgId, configuration, false);
    await runAutoPlugs();
    await pass(channelId, 7);
    await runAutoPlugs();
    await followUps.setConfigurationActive(orgId, configuration, true);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([]); // the runs at 6 and 12 hours are gone
    await pass(channelId, 5.2); // the third one, at 18 hours, is made
    await runAutoPlugs();
    expect(countedPosts()).toEqual(ids);
  });

  test('a channel that stands still has no run, and none is made up for [PL10]', async () => {
    const { channelId } = await channelWith([5.9]);
    await runAutoPlugs();
    await db.sql`update channels set disabled = true where id = ${channelId}`;
    await pass(channelId, 0.2);
    await runAutoPlugs();
    await db.sql`update channels set disabled = false where id = ${channelId}`;
    await pass(channelId, 1);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([]);
  });

  test('a channel that was deleted has the next run on time when it is back, and none is made up for [PL3, PL10]', async () => {
    const { channelId, ids } = await channelWith([5.9]);
    await runAutoPlugs();
    await db.sql`update channels set deleted_at = now() where id = ${channelId}`;
    await pass(channelId, 0.2);
    await runAutoPlugs();
    await db.sql`update channels set deleted_at = null where id = ${channelId}`;
    await runAutoPlugs();
    expect(countedPosts()).toEqual([]); // the run at 6 hours is gone
    await pass(channelId, 6);
    await runAutoPlugs();
    expect(countedPosts()).toEqual(ids); // the one at 12 hours
  });

  test('numbers that analytics read less than half an interval ago serve a look, older ones do not', async () => {
    const { orgId, channelId, ids } = await channelWith([5.9, 5.9]);
    const [read, other] = ids as [string, string];
    await runAutoPlugs();
    const collectedAgo = (hours: number) => db.sql`
      with run as (
        insert into analytics_runs (org_id, day, started_at)
        values (${orgId}, (now() at time zone 'UTC')::date - 1, now() - ${hours}::float8 * interval '1 hour')
        on conflict (org_id, day) do update set started_at = excluded.started_at
      )
      insert into analytics_post_days (org_id, channel_id, post_id, date, counts)
      values (${orgId}, ${channelId}, ${read}, (now() at time zone 'UTC')::date - 1, '{"likes": 12}')
      on conflict do nothing`;
    await collectedAgo(2.9); // of six
    below.counts = () => ({ likes: 0 });
    await pass(channelId, 0.2);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([other]);
    expect((await followUpsOf(db.sql, read)).map(({ kind }) => kind)).toEqual(['auto_plug']);

    await db.sql`delete from post_follow_ups where post_id = ${read}`;
    await collectedAgo(3.1);
    await pass(channelId, 6);
    await runAutoPlugs();
    expect(countedPosts().slice(1).toSorted()).toEqual([...ids].toSorted());
  });

  test('a run that falls into a brake of its campaign is not made up for; the others of its channel are made [PL10]', async () => {
    const { channelId, ids } = await channelWith([5.9, 5.9]);
    const [braked, other] = ids as [string, string];
    await runAutoPlugs();
    const [{ group }] = await db.sql<[{ group: string }]>`select group_id as "group" from posts where id = ${braked}`;
    await db.sql`update posts set group_id = 'another' where id = ${other}`;
    await db.sql`update channels set brakes = ${[`campaign:${group}`]} where id = ${channelId}`;
    await pass(channelId, 0.2);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([other]);
    await db.sql`update channels set brakes = '{}' where id = ${channelId}`;
    await pass(channelId, 1);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([other]);
  });

  test('a network that fails is asked again, and the run stays due; a deleted post has none [PL3]', async () => {
    const { channelId, ids, configuration } = await channelWith([5.95, 5.95]);
    await db.sql`update posts set deleted_at = now() where id = ${ids[1]!}`;
    await runAutoPlugs();
    await pass(channelId, 0.1);
    below.counts = () => {
      throw new ProviderError('unavailable', 'Out of order');
    };
    await runAutoPlugs();
    expect((await configurationOf(configuration)).runs).toBe(0);
    below.counts = () => ({ likes: 3 });
    await pass(channelId, 0.1);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([ids[0], ids[0]]);
    expect((await configurationOf(configuration)).runs).toBe(1);
  });

  test('a network that does not tell the likes of a post is told in its timeline with the reason, once [PL3]', async () => {
    const { channelId, ids } = await channelWith([5.9, 5.9]);
    const [refused, counted] = ids as [string, string];
    await runAutoPlugs();
    below.counts = (release) => {
      if (release === `r-${refused}`) throw new ProviderError('rejected', 'missing_scope: reactions:read');
      return { likes: 3 };
    };
    network.declares.metricsAtOnce = 1;
    for (let n = 0; n < 2; n++) {
      await pass(channelId, n === 0 ? 0.2 : 6);
      await runAutoPlugs();
    }
    expect(countedPosts().filter((id) => id === refused)).toHaveLength(2);
    expect(await told(db.sql, refused, 'plug')).toEqual([
      'The network does not tell the likes of the post, so the plug does not act: missing_scope: reactions:read',
    ]);
    expect(await told(db.sql, counted, 'plug')).toEqual([]);
  });

  test('a look that a killed host had begun is made by another [PL3]', async () => {
    const { channelId, ids, configuration } = await channelWith([5.9]);
    await runAutoPlugs();
    await pass(channelId, 0.2);
    await db.sql`
      update plug_configurations
      set claim = ${newId()}, claimed_until = now() + interval '1 minute'
      where id = ${configuration}`;
    await runAutoPlugs();
    expect(below.counted).toEqual([]);
    await db.sql`update plug_configurations set claimed_until = now() where id = ${configuration}`;
    await runAutoPlugs();
    expect(countedPosts()).toEqual(ids);
  });

  test('two processes make one look [PL3]', async () => {
    const { channelId } = await channelWith([5.9]);
    await runAutoPlugs();
    await pass(channelId, 0.2);
    await Promise.all([runAutoPlugs(), runAutoPlugs(), runAutoPlugs()]);
    expect(below.counted).toHaveLength(1);
  });

  test('one that is declared as disabled is listed, and can neither be saved nor activated [PL1, S231]', async () => {
    const { orgId, channelId, configuration } = await channelWith([]);
    const { followUps } = world.context;
    await followUps.setConfigurationActive(orgId, configuration, false);
    declare({ disabled: true });
    expect(followUps.listAutoPlugs().find(({ id }) => id === 'fake')!.plugs).toHaveLength(2);
    await expect(followUps.setConfigurationActive(orgId, configuration, true)).rejects.toMatchObject({
      status: 400,
      extra: { errors: [{ field: 'status' }] },
    });
    const input = { func: 'fake-auto-repost', fields: [{ name: 'likesAmount', value: '1' }] };
    await expect(followUps.saveConfiguration(orgId, channelId, input)).rejects.toMatchObject({
      status: 400,
      extra: { errors: [{ field: 'func' }] },
    });
  });

  test('without an end it looks once a day after 30 days [PL4]', async () => {
    declare({ totalRuns: 0 });
    const { channelId, ids, configuration } = await channelWith([30 * 24 + 23.9, 12.1]);
    await runAutoPlugs();
    await pass(channelId, 0.2);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([ids[0]]);
    await pass(channelId, 5.7);
    await runAutoPlugs();
    expect(countedPosts()).toEqual([ids[0], ids[1]]);
    const { nextInMs } = await configurationOf(configuration);
    expect(Math.abs(nextInMs! - 6 * HOUR)).toBeLessThan(0.1 * HOUR);
  });

  test('one that is refused has failed for good, which is told [NO13]', async () => {
    const { channelId, ids } = await channelWith([5.9]);
    below.counts = () => ({ likes: 10 });
    below.behave = () => Promise.reject(new ProviderError('rejected', 'No comments here'));
    await runAutoPlugs();
    await pass(channelId, 0.2);
    await runAutoPlugs();
    await makeDue(world, ids[0]!);
    await settles(async () => expect((await followUpsOf(db.sql, ids[0]!))[0]).toMatchObject({ state: 'failed' }));
    expect(await failures(ids[0]!)).toEqual([
      expect.objectContaining({
        channelId,
        plug: 'Comment on popular posts',
        actingName: 'Channel',
        error: 'No comments here',
      }),
    ]);
  });

  test('what it was about to do does not happen once it is not activated [PL11]', async () => {
    const { orgId, channelId, ids, configuration } = await channelWith([5.9]);
    below.counts = () => ({ likes: 10 });
    await runAutoPlugs();
    await pass(channelId, 0.2);
    await runAutoPlugs();
    await world.context.followUps.setConfigurationActive(orgId, configuration, false);
    await makeDue(world, ids[0]!);
    await settles(async () => expect((await followUpsOf(db.sql, ids[0]!))[0]).toMatchObject({ state: 'ended' }));
    expect(madeBelow(ids[0]!)).toEqual([]);
    expect(await failures(ids[0]!)).toEqual([]);
  });

  test('what it may have done is looked up though it is not activated any more [PL11]', async () => {
    const { orgId, channelId, ids, configuration } = await channelWith([5.9]);
    below.counts = () => ({ likes: 10 });
    await runAutoPlugs();
    await pass(channelId, 0.2);
    await runAutoPlugs();
    await abandon(db.sql, ids[0]!);
    const { id } = (await followUpsOf(db.sql, ids[0]!))[0]!;
    below.made.push({ kind: 'comment', account: channelId, id, below: `r-${ids[0]!}`, text: 'Thank you all' });
    await world.context.followUps.setConfigurationActive(orgId, configuration, false);
    await world.reconciler.sweep();
    await settles(async () => expect((await followUpsOf(db.sql, ids[0]!))[0]).toMatchObject({ state: 'done' }));
    expect(below.asked).toEqual([]);
  });
});
