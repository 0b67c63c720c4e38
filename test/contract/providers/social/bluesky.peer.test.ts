import { afterAll, beforeAll, expect, test } from '@jest/globals';
import sharp from 'sharp';
import type { Media } from '../../../../src/providers/registry/index.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { describePeer, npmPeer, type Peer } from '../../../support/peers/peers.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';

// a data server without an AppView and a video service: nobody tells answers and counts there, or takes videos

interface Account {
  did: string;
  handle: string;
  password: string;
}
interface Record {
  uri: string;
  cid: string;
  value: {
    text: string;
    facets?: { index: { byteStart: number; byteEnd: number }; features: object[] }[];
    embed?: { images: { alt: string; image: { mimeType: string; size: number }; aspectRatio: object }[] };
    reply?: object;
    langs?: string[];
  };
}

await describePeer(
  'bluesky PDS',
  () => npmPeer('bluesky'),
  ({ start }) => {
    let pds: Peer;
    let alice: Account;
    let bob: Account;
    let providers: ReturnType<typeof localProviders>;
    beforeAll(async () => {
      pds = await start();
      ({ alice, bob } = pds.env['accounts'] as { alice: Account; bob: Account });
      providers = localProviders({ servers: { 'social/bluesky/plc': pds.env['plc'] as string } });
    }, 120_000);
    afterAll(async () => {
      await providers[Symbol.asyncDispose]();
      await pds.stop();
    });

    const adapter = () => providers.resolve('social', 'bluesky');
    const fieldsOf = ({ handle, password }: Account) =>
      providers.fields(adapter(), { service: pds.url, identifier: handle, password });
    async function channel(account = alice) {
      const values = fieldsOf(account);
      return providers.connect(adapter(), {
        values,
        account: account.did,
        tokens: await providers.signIn(adapter(), values),
      });
    }
    /** Reads a record from the server, without the adapter. */
    const records = async (did: string): Promise<Record[]> => {
      const answer = await providers.outbound.fetch(
        `${pds.url}/xrpc/com.atproto.repo.listRecords?repo=${did}&collection=app.bsky.feed.post&limit=100`,
      );
      return (answer.json() as { records: Record[] }).records;
    };
    const photo = async (side: number): Promise<Media> => {
      // noise does not compress: the file is larger than the network allows
      const data = await sharp({
        create: {
          width: side,
          height: Math.round(side / 2),
          channels: 3,
          background: '#888',
          noise: { type: 'gaussian', mean: 128, sigma: 60 },
        },
      })
        .png()
        .toBuffer();
      return mediaOf(data, {
        name: 'noise.png',
        contentType: 'image/png',
        alt: 'Grey noise',
        publicUrl: 'https://files.example/noise.png',
      });
    };

    test('publishes a post with a link, a mention, a tag and a picture with alt text', async () => {
      const text = 'Grüße 👋🏽 @bob.test, see https://rookery.example/a?b=1. #Vögel';
      const published = await (
        await channel()
      ).publish(postOf(text, [await photo(200)]), { languages: ['de'] }, handleOf());
      const record = (await records(alice.did)).find(({ uri }) => uri === published.id)!;
      expect(record.value).toMatchObject({ text, langs: ['de'] });
      const bytes = Buffer.from(text);
      const shown = record.value.facets!.map(({ index, features }) => [
        bytes.subarray(index.byteStart, index.byteEnd).toString(),
        features[0],
      ]);
      expect(shown).toEqual([
        ['@bob.test', { $type: 'app.bsky.richtext.facet#mention', did: bob.did }],
        [
          'https://rookery.example/a?b=1',
          { $type: 'app.bsky.richtext.facet#link', uri: 'https://rookery.example/a?b=1' },
        ],
        ['#Vögel', { $type: 'app.bsky.richtext.facet#tag', tag: 'Vögel' }],
      ]);
      expect(record.value.embed!.images).toMatchObject([
        { alt: 'Grey noise', image: { mimeType: 'image/png' }, aspectRatio: { width: 200, height: 100 } },
      ]);
    });

    test('converts a picture that is too large', async () => {
      const large = await photo(1_600);
      expect(large.size).toBeGreaterThan(2_000_000);
      const published = await (await channel()).publish(postOf('Large', [large]), {}, handleOf());
      const { image } = (await records(alice.did)).find(({ uri }) => uri === published.id)!.value.embed!.images[0]!;
      expect(image.mimeType).toBe('image/jpeg');
      expect(image.size).toBeLessThanOrEqual(2_000_000);
    });

    test('publishes one post when it is sent again under its key', async () => {
      const social = await channel();
      const post = postOf('Only once', [await photo(64)]);
      const handle = handleOf();
      const first = await social.publish(post, {}, handle);
      const second = await social.publish(post, {}, handleOf(handle.kept[0]));
      expect([second.id, second.saved]).toEqual([first.id, first.saved]);
      expect((await records(alice.did)).filter(({ value }) => value.text === 'Only once')).toHaveLength(1);
    });

    test('finds a post by its key, and none that never arrived', async () => {
      const social = await channel();
      const post = postOf('Find me');
      const handle = handleOf();
      const published = await social.publish(post, {}, handle);
      await expect(
        social.find!(post, {}, { since: new Date(), saved: handle.kept[0], thread: [] }),
      ).resolves.toMatchObject({ id: published.id });
      await expect(
        social.find!(
          post,
          {},
          { since: new Date(), saved: { rkey: '3kaaaaaaaaa22', createdAt: new Date().toISOString() }, thread: [] },
        ),
      ).resolves.toBeUndefined();
    });

    test('replies with root and parent, and deletes a post', async () => {
      const social = await channel();
      const root = await social.publish(postOf('Root'), {}, handleOf());
      const second = await social.publish(postOf('Second'), {}, handleOf(undefined, [root]));
      const third = await social.publish(postOf('Third'), {}, handleOf(undefined, [root, second]));
      const record = (await records(alice.did)).find(({ uri }) => uri === third.id)!;
      expect(record.value.reply).toEqual({ root: root.saved, parent: { uri: second.id, cid: expect.any(String) } });
      await social.remove!(third);
      expect((await records(alice.did)).some(({ uri }) => uri === third.id)).toBe(false);
    });

    test('comments, answers a comment, deletes an answer, and repeats a post once', async () => {
      const [ann, ben] = [await channel(), await channel(bob)];
      const root = await ann.publish(postOf('Discuss'), {}, handleOf());
      const comment = await ben.comment!({ post: postOf('First'), published: root }, handleOf());
      const answer = await ann.comment!({ post: postOf('Thanks'), published: root, parent: comment }, handleOf());
      const record = (await records(alice.did)).find(({ uri }) => uri === answer.id)!;
      expect(record.value.reply).toEqual({ root: root.saved, parent: { uri: comment.id, cid: expect.any(String) } });
      const below = (await records(bob.did)).find(({ uri }) => uri === comment.id)!;
      expect(below.value).toMatchObject({ text: 'First', reply: { root: root.saved, parent: root.saved } });
      await ann.remove!(answer);
      expect((await records(alice.did)).some(({ uri }) => uri === answer.id)).toBe(false);
      const handle = handleOf();
      const first = await ben.repost!({ id: 'repost-1', published: root }, handle);
      const again = await ben.repost!({ id: 'repost-1', published: root }, handleOf(handle.kept[0]));
      expect(again).toEqual(first);
      const since = new Date();
      await expect(
        ben.findRepost!({ id: 'repost-1', published: root }, { since, saved: handle.kept[0], thread: [] }),
      ).resolves.toEqual(first);
    });

    test('reads the account and the server that holds it', async () => {
      const values = fieldsOf(alice);
      const tokens = (await providers.signIn(adapter(), values))!;
      expect(URL.canParse(tokens.values!['service']!)).toBe(true);
      expect(tokens.expiresAt!.getTime()).toBeGreaterThan(new Date().getTime());
      await expect((await channel()).profile()).resolves.toMatchObject({ id: alice.did, handle: '@alice.test' });
    });

    test('renews a session with new tokens, and by the app password after its refresh token was used', async () => {
      const values = fieldsOf(bob);
      const tokens = (await providers.signIn(adapter(), values))!;
      const fresh = (await providers.refresh(adapter(), { values, tokens }))!;
      expect(fresh.refreshToken).not.toBe(tokens.refreshToken);
      const again = (await providers.refresh(adapter(), { values, tokens: { ...tokens, refreshToken: 'spent' } }))!;
      await expect(
        providers.connect(adapter(), { values, account: bob.did, tokens: again }).profile(),
      ).resolves.toMatchObject({ id: bob.did });
    });

    test('a wrong app password and an old token are refused', async () => {
      const values = { ...fieldsOf(alice), password: 'aaaa-bbbb-cccc-dddd' };
      expect(await failureOf(providers.signIn(adapter(), values))).toMatchObject({ failure: 'reauthorize' });
      const stale = providers.connect(adapter(), {
        values,
        account: alice.did,
        tokens: { accessToken: 'no.such.token' },
      });
      expect(await failureOf(stale.publish(postOf('Never'), {}, handleOf()))).toMatchObject({ failure: 'reauthorize' });
    });
  },
);
