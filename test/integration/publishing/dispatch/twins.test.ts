import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pixelfed from '../../../fixtures/providers/social-servers/pixelfed.ts';
import mastodon from '../../../fixtures/providers/social-servers/mastodon.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import {
  admit,
  newPost,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { startReceiver } from '../../../support/wire/receiver.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';

const CREATING = 'POST /api/v1/statuses';
// One pixel, by the specification of PNG.
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
const picture = await mediaOf(PIXEL, {
  name: 'a.png',
  contentType: 'image/png',
  alt: '',
  publicUrl: 'https://files.example/a.png',
});

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

describe.each([
  ['mastodon', mastodon],
  ['pixelfed', pixelfed],
] as const)('identical posts of %s', (id, fixture) => {
  /** The product's actors over the real adapter, and the network on the wire. */
  async function start() {
    const opened = new AsyncDisposableStack();
    const wire = opened.use(await fixture.start());
    const files = opened.use(await startReceiver({ answer: (response) => void response.writeHead(200).end(PIXEL) }));
    const providers = opened.use(localProviders());
    const real = providers.resolve('social', id);
    // Absent at the first look: the test does not wait for the product's time. Each request is answered or cut, and a
    // call that were given up by its time on a slow machine would be another case.
    const adapter = { ...real, version: 'v9', status: 'active', settlesWithinMs: 0 } as const;
    const world = opened.use(await startPublisher({ url: db.url, network: { adapter } }));
    const account = providers.connect(real, { values: wire.values, account: wire.account, tokens: wire.tokens });
    const image = [{ id: 'a', path: `${files.url}/a.png`, alt: '', thumbnail: null }];
    const login = sealCredentials(world.context.vault, {
      account: wire.account,
      values: wire.values,
      tokens: wire.tokens,
      grantedAt: systemClock.now(),
    });
    const seedChannel = async () => {
      const org = await seedOrg(db.sql);
      await db.sql`
        update channels
        set provider_id = ${id}, provider_version = 'v9', internal_id = ${wire.account}, credentials = ${login}
        where id = ${org.channelId}`;
      return org;
    };
    const publishByHand = (text: string, pictures: number) =>
      account.publish(
        postOf(
          text,
          Array.from({ length: pictures }, () => picture),
        ),
        {},
        handleOf(),
      );
    return { wire, world, image, seedChannel, publishByHand, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  }
  const releasesOf = async (world: Publisher, orgId: string) =>
    (await world.sql<{ id: string }[]>`select release_id as id from posts where org_id = ${orgId} order by seq`).map(
      (row) => row.id,
    );

  test.each(['cut', 'hang-up', 'accept-then-hang-up'] as const)(
    'a second post whose request ends in %s is published once under its own release',
    async (behaviour) => {
      await using running = await start();
      const { wire, world, image, seedChannel } = running;
      const { orgId, channelId } = await seedChannel();
      await admit(world, orgId, [newPost(channelId, { media: image })]);
      await settled(db.sql, orgId);
      wire.on(CREATING, behaviour, 1);
      const twin = newPost(channelId, { media: image });
      await admit(world, orgId, [twin]);
      await settled(db.sql, orgId);
      expect(await stateOf(db.sql, twin.id)).toMatchObject({ state: 'PUBLISHED' });
      expect(wire.posts).toHaveLength(2);
      expect(await releasesOf(world, orgId)).toEqual(wire.posts.map((post) => post.id));
    },
  );

  test.each(['cut', 'hang-up', 'accept-then-hang-up'] as const)(
    'items of one thread, the last of which ends in %s, are published once and in order',
    async (behaviour) => {
      await using running = await start();
      const { wire, world, image, seedChannel } = running;
      const { orgId, channelId } = await seedChannel();
      const root = newPost(channelId, { content: '', media: image });
      const item = { content: '', media: image, group: root.group, rootPostId: root.id };
      const second = newPost(channelId, { ...item, parentPostId: root.id });
      const third = newPost(channelId, { ...item, parentPostId: second.id });
      wire.on(CREATING, behaviour, 1, 2);
      await admit(world, orgId, [root, second, third]);
      await settled(db.sql, orgId);
      expect(wire.posts.map(({ replyTo }) => replyTo)).toEqual([undefined, wire.posts[0]!.id, wire.posts[1]!.id]);
      expect(await releasesOf(world, orgId)).toEqual(wire.posts.map((post) => post.id));
    },
  );

  test('a post made by a person meanwhile is distinguished by its media, or left for a person to decide', async () => {
    await using running = await start();
    const { wire, world, image, seedChannel, publishByHand } = running;
    const { orgId, channelId } = await seedChannel();
    const media = id === 'pixelfed' ? image : [];
    await publishByHand('Hi', media.length);
    wire.on(CREATING, 'accept-then-hang-up', 1);
    const post = newPost(channelId, { media });
    await admit(world, orgId, [post]);
    await settled(db.sql, orgId);
    const [byHand, ours] = wire.posts.map((one) => one.id);
    expect(wire.posts).toHaveLength(2);
    if (media.length > 0) expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', releaseId: ours });
    else {
      expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'ERROR', detail: 'unconfirmed', releaseId: null });
      expect((await world.posts.findMissing(orgId, post.id)).map((one) => one.id).toSorted()).toEqual(
        [byHand, ours].toSorted(),
      );
    }
  });

  test('two posts with missing answers at once never share a release', async () => {
    await using running = await start();
    const { wire, world, image, seedChannel } = running;
    const { orgId, channelId } = await seedChannel();
    const media = id === 'pixelfed' ? image : [];
    const [first, second] = [newPost(channelId, { media }), newPost(channelId, { media })];
    wire.on('GET /api/v1/accounts/:id/statuses', { status: 503 }, 1);
    wire.on(CREATING, 'hang-up', 1);
    await admit(world, orgId, [first]);
    await settled(db.sql, orgId, { details: ['unconfirmed'] });
    await db.sql`
      update channels
      set slot_post_id = null, slot_incarnation = null, slot_until = null
      where id = ${channelId}`; // its minute is over
    wire.on(CREATING, 'accept-then-hang-up', 1);
    await admit(world, orgId, [second]);
    await settled(db.sql, orgId, { details: ['unconfirmed'] });
    await db.sql`
      update posts set look_up_at = now() - interval '6 s' where org_id = ${orgId} and detail = 'unconfirmed'`;
    await world.reconciler.sweep();
    await settled(db.sql, orgId, { details: ['unconfirmed'] });
    const releases = (await releasesOf(world, orgId)).filter((one) => one !== null);
    expect(new Set(releases).size).toBe(releases.length);
  });
});
