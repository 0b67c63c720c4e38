import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, ProviderError } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import {
  commentBy,
  holdSweeper,
  publishedPost,
  saidBelow,
  type SaidBelow,
  sweepNow,
} from '../../support/worlds/publishing/comments.ts';
import {
  type Network,
  openNetwork,
  type Publisher,
  seedOrg,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

// Which channels are read, when, and by whom.

let db: TestDatabase;
let network: Network;
let world: Publisher;
let said: SaidBelow;
beforeAll(async () => {
  db = await testDatabase();
  await holdSweeper(db.sql);
  network = openNetwork();
  world = await startPublisher({ url: db.url, network });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => {
  network.declares = {};
  said = saidBelow(network);
});
const count = async (orgId: string) => (await world.context.comments.listComments(orgId, { limit: 100 })).items.length;
async function channelWithPost() {
  const { orgId, channelIds } = await seedOrg(db.sql);
  const [channelId] = channelIds as [string];
  return { orgId, channelId, postId: await publishedPost(db.sql, { orgId, channelId }) };
}
const nextOf = async (channelId: string) =>
  (
    await db.sql<{ inMs: number }[]>`
      select (extract(epoch from next_run_at - now()) * 1000)::float8 as "inMs"
      from comment_sweeps
      where channel_id = ${channelId}`
  )[0]?.inMs;

describe('channels whose comments are read', () => {
  test('are spread over the interval, each at its own moment of it [AN3]', async () => {
    const { channelIds } = await seedOrg(db.sql, 200);
    await world.context.comments.sweepComments(500);
    const at = new Map<string, number>();
    for (const id of channelIds) at.set(id, (await nextOf(id))!);
    const thirds = [0, 0, 0];
    for (const ms of at.values()) thirds[Math.min(2, Math.floor(ms / 600_000))]! += 1;
    expect([...at.values()].every((ms) => ms > -60_000 && ms <= 1_800_000)).toBe(true);
    for (const third of thirds) expect(third).toBeGreaterThan(30);
    const [some] = channelIds as [string];
    const [moment] = await db.sql<{ at: Date }[]>`
      select next_run_at as at from comment_sweeps where channel_id = ${some}`;
    await sweepNow(world, some);
    const [next] = await db.sql<
      { at: Date }[]
    >`select next_run_at as at from comment_sweeps where channel_id = ${some}`;
    expect((next!.at.getTime() - moment!.at.getTime()) % 1_800_000).toBe(0);
  });

  test('are none of a network that costs before a person asks for it, and none where a person says no [S186]', async () => {
    const { orgId, channelId } = await channelWithPost();
    const { channels } = world.context;
    const set = (syncComments: unknown) => channels.setAdditional(orgId, channelId, JSON.stringify({ syncComments }));
    const isAsked = async () => {
      said.asked.length = 0;
      await sweepNow(world, channelId);
      return said.asked.length > 0;
    };
    const sync = () => world.context.comments.queueSync(orgId, channelId);
    network.declares.commentReads = { scarce: true };
    expect(await isAsked()).toBe(false);
    await expect(sync()).rejects.toMatchObject({
      code: 'validation_failed',
      message: expect.stringMatching(/^integrationId: /),
    });
    await set(true);
    expect(await isAsked()).toBe(true);
    await sync();
    network.declares.commentReads = {};
    await set(false);
    expect(await isAsked()).toBe(false);
    await expect(set('yes')).rejects.toMatchObject({
      message: 'additionalSettings.syncComments: must be true or false',
    });
    delete network.declares.comments;
    await expect(set(true)).rejects.toMatchObject({
      message: expect.stringMatching(/^additionalSettings\.syncComments: /),
    });
    await set(false);
  });

  test('are none that cannot be called, or whose organization is out of use', async () => {
    const { orgId, channelId } = await channelWithPost();
    const ways = [
      [
        db.sql`update channels set disabled = true where id = ${channelId}`,
        db.sql`update channels set disabled = false where id = ${channelId}`,
      ],
      [
        db.sql`update channels set refresh_needed = true where id = ${channelId}`,
        db.sql`update channels set refresh_needed = false where id = ${channelId}`,
      ],
      [
        db.sql`update organizations set disabled_at = now() where id = ${orgId}`,
        db.sql`update organizations set disabled_at = null where id = ${orgId}`,
      ],
    ] as const;
    for (const [stop, goOn] of ways) {
      await stop;
      await sweepNow(world, channelId);
      expect(said.asked).toEqual([]);
      await goOn;
    }
    await sweepNow(world, channelId);
    expect(said.asked).toHaveLength(1);
  });

  test('hold up no other where they fail, and are asked again when their network wants it', async () => {
    const [bad, good] = [await channelWithPost(), await channelWithPost()];
    said.pages = ({ published }) => {
      if (published.id === `r-${bad.postId}`)
        throw new ProviderError('rate_limited', 'Slow down', { retryAfterMs: 7_200_000 });
      return { comments: [commentBy('Ann')] };
    };
    await db.sql`
      insert into comment_sweeps (channel_id, org_id, next_run_at)
      select id, org_id, now() from channels where id = any(${[bad.channelId, good.channelId]}::uuid[])`;
    await world.context.comments.sweepComments(500);
    expect([await count(bad.orgId), await count(good.orgId)]).toEqual([0, 1]);
    expect(await nextOf(bad.channelId)).toBeGreaterThan(7_100_000);
    expect(await nextOf(good.channelId)).toBeLessThanOrEqual(1_800_000);
    const [{ isWhole } = {}] = await db.sql`
      select whole_at is not null as "isWhole" from comment_sweeps where channel_id = ${bad.channelId}`;
    expect(isWhole).toBe(false); // the look at 30 days is still to be made
  });

  test('pass over a post that the network refuses', async () => {
    const { orgId, channelId, postId } = await channelWithPost();
    await publishedPost(db.sql, { orgId, channelId });
    said.pages = ({ published }) => {
      if (published.id === `r-${postId}`) throw new ProviderError('rejected', 'It is gone');
      return { comments: [commentBy('Ann')] };
    };
    await sweepNow(world, channelId);
    expect(await count(orgId)).toBe(1);
  });

  test('need a new login where the network refuses the one that there is', async () => {
    const { channelId } = await channelWithPost();
    said.pages = () => {
      throw new ProviderError('reauthorize', 'The login was refused');
    };
    await sweepNow(world, channelId);
    expect(await db.sql`select from channels where id = ${channelId} and refresh_needed`).toHaveLength(1);
  });

  test('are read by one process at a time, and by another one when that is dead', async () => {
    const { orgId, channelId } = await channelWithPost();
    said.pages = () => ({ comments: [commentBy('Ann')] });
    await db.sql`
      insert into comment_sweeps (channel_id, org_id, next_run_at, claim, claimed_until)
      values (${channelId}, ${orgId}, now(), ${newId()}, now() + interval '1 minute')`;
    await world.context.comments.sweepComments(500);
    expect(said.asked).toEqual([]);
    await db.sql`update comment_sweeps set claimed_until = now() - interval '1 s' where channel_id = ${channelId}`;
    await world.context.comments.sweepComments(500);
    expect(await count(orgId)).toBe(1);
  });

  test('are read once more where somebody asks for it while they are being read [S186]', async () => {
    const { orgId, channelId } = await channelWithPost();
    let reads = 0;
    network.declares.comments = (async () => {
      reads += 1;
      if (reads === 1) await world.context.comments.queueSync(orgId, channelId);
      return { comments: [commentBy('Ann')] };
    }) as never;
    await sweepNow(world, channelId);
    expect(await nextOf(channelId)).toBeLessThanOrEqual(0);
    await world.context.comments.sweepComments(500);
    await world.context.comments.sweepComments(500);
    expect(reads).toBe(2);
  });

  test('store nothing of a read whose claim was taken over meanwhile', async () => {
    const { orgId, channelId } = await channelWithPost();
    const taken = Promise.withResolvers<void>();
    network.declares.comments = (async () => {
      await db.sql`update comment_sweeps set claim = ${newId()} where channel_id = ${channelId}`;
      taken.resolve();
      return { comments: [commentBy('Ann')] };
    }) as never;
    await sweepNow(world, channelId);
    await taken.promise;
    expect(await count(orgId)).toBe(0);
    expect(await db.sql`select from outbox where org_id = ${orgId}`).toEqual([]);
  });
});
