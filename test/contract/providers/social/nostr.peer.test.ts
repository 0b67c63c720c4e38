import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { schnorr } from '@noble/curves/secp256k1.js';
import { decodeNpub, encodeNpub } from '../../../../src/providers/kit/protocols/nostr.ts';
import type { Published } from '../../../../src/providers/registry/index.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { picture as pictureOf } from '../../../support/worlds/samples.ts';
import { describePeer, npmPeer, type Peer } from '../../../support/peers/peers.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';

const KEY = '7f'.repeat(32);
const PUBLIC = Buffer.from(schnorr.getPublicKey(new Uint8Array(Buffer.from(KEY, 'hex')))).toString('hex');
const BOB = encodeNpub('a1'.repeat(32));

interface Event {
  id: string;
  pubkey: string;
  content: string;
  tags: string[][];
}

/** Installed before the tests, whose time an installation would take. */
let sdks: Awaited<ReturnType<typeof npmPeer>>;
await describePeer(
  'nostr relay',
  async () => {
    sdks = await npmPeer('social-sdks');
    return 'missing' in sdks ? sdks : npmPeer('nostr');
  },
  ({ start }) => {
    let relays: Peer[];
    let providers: ReturnType<typeof localProviders>;
    beforeAll(async () => {
      relays = await Promise.all([start(), start()]);
      providers = localProviders();
    }, 120_000);
    afterAll(async () => {
      await providers[Symbol.asyncDispose]();
      await Promise.all(relays.map((relay) => relay.stop()));
    });

    const adapter = () => providers.resolve('social', 'nostr');
    const channel = (urls: string[], password = KEY) =>
      providers.connect(adapter(), { values: { password, relays: urls.join(', ') }, account: PUBLIC });
    const urls = () => relays.map(({ url }) => url);

    /** Reads events from a relay, without the adapter. */
    const stored = (url: string, filter: object) =>
      new Promise<Event[]>((resolve, reject) => {
        const events: Event[] = [];
        const socket = providers.outbound.webSocket(url);
        socket.addEventListener('error', () => reject(new Error('no relay')));
        socket.addEventListener('open', () => socket.send(JSON.stringify(['REQ', 'r', filter])));
        socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
          const [verb, , event] = JSON.parse(data) as [string, string, Event];
          if (verb === 'EVENT') events.push(event);
          if (verb === 'EOSE') {
            socket.close();
            resolve(events);
          }
        });
      });

    test('publishes a note with a link, a person, a tag and a picture to both relays', async () => {
      const text = `Hello nostr:${BOB} 👋 https://rookery.example/?a=1 #Birds`;
      const bird = {
        name: 'bird.png',
        contentType: 'image/png',
        alt: 'A bird',
        publicUrl: 'https://files.rookery.example/bird.png',
      };
      const picture = await mediaOf(await pictureOf(3, 2), bird);
      const published = await channel(urls()).publish(postOf(text, [picture]), {}, handleOf());
      for (const url of urls()) {
        const [event] = await stored(url, { ids: [published.id] });
        expect(event).toMatchObject({ pubkey: PUBLIC, content: `${text}\nhttps://files.rookery.example/bird.png` });
        expect(event!.tags).toEqual(
          expect.arrayContaining([
            ['t', 'birds'],
            ['p', decodeNpub(BOB)!],
            ['imeta', 'url https://files.rookery.example/bird.png', 'm image/png', 'dim 3x2', 'alt A bird'],
          ]),
        );
      }
      expect(published.saved).toMatchObject({ relays: urls() });
    });

    test('publishes one note when it is sent again', async () => {
      const post = postOf('Only once');
      const handle = handleOf();
      const first = await channel(urls()).publish(post, {}, handle);
      const second = await channel(urls()).publish(post, {}, handleOf(handle.kept[0]));
      expect(second.id).toBe(first.id);
      const events = await stored(urls()[0]!, { authors: [PUBLIC], kinds: [1] });
      expect(events.filter(({ content }) => content === 'Only once')).toHaveLength(1);
    });

    test('succeeds with one relay of two, and names it', async () => {
      const published = await channel(['ws://127.0.0.1:9', urls()[1]!]).publish(postOf('Half'), {}, handleOf());
      expect(published.saved).toMatchObject({ relays: [urls()[1]] });
      expect(await stored(urls()[1]!, { ids: [published.id] })).toHaveLength(1);
      expect(await stored(urls()[0]!, { ids: [published.id] })).toHaveLength(0);
    });

    test('replies with root and parent', async () => {
      const social = channel(urls());
      const root = await social.publish(postOf('Root'), {}, handleOf());
      const second = await social.publish(postOf('Second'), {}, handleOf(undefined, [root]));
      const third = await social.publish(postOf('Third'), {}, handleOf(undefined, [root, second]));
      const [event] = await stored(urls()[0]!, { ids: [third.id] });
      expect(event!.tags.filter(([name]) => name === 'e').map(([, id, , mark]) => [id, mark])).toEqual([
        [root.id, 'root'],
        [second.id, 'reply'],
      ]);
    });

    test('comments, answers a comment, reads both from the relays, and deletes one there', async () => {
      const social = channel(urls());
      const published = await social.publish(postOf('Talk'), {}, handleOf());
      const handle = handleOf();
      const said = { post: postOf('Nice'), published };
      const comment = await social.comment!(said, handle);
      const answer = await social.comment!({ post: postOf('Thanks'), published, parent: comment }, handleOf());
      for (const url of urls()) {
        const [event] = await stored(url, { ids: [answer.id] });
        expect(event!.tags.filter(([name]) => name === 'e').map(([, id, , mark]) => [id, mark])).toEqual([
          [published.id, 'root'],
          [comment.id, 'reply'],
        ]);
      }
      const attempt = { since: new Date(), saved: handle.kept[0], thread: [] };
      await expect(social.findComment!(said, attempt)).resolves.toMatchObject({ id: comment.id });
      const { comments } = await social.comments!(published);
      const told = comments.map(({ id, text, author, parentId }) => [id, text, author.id, parentId]);
      expect(told).toHaveLength(2); // of one second, in any order
      expect(told).toContainEqual([comment.id, 'Nice', PUBLIC, undefined]);
      expect(told).toContainEqual([answer.id, 'Thanks', PUBLIC, comment.id]);
      await social.remove!(answer);
      for (const url of urls()) {
        const left = await stored(url, { ids: [published.id, comment.id, answer.id] });
        expect(left.map(({ id }) => id).toSorted()).toEqual([published.id, comment.id].toSorted());
      }
    });

    test('writes events and addresses that nostr-tools reads as its own', async () => {
      if ('missing' in sdks) throw new Error(sdks.missing);
      await using nostrTools = await sdks.start();
      const social = channel(urls());
      const thread: Published[] = [];
      for (const text of ['Grüße 👋 "quoted" \\ and\na new line', 'Second', 'Third'])
        thread.push(await social.publish(postOf(text), {}, handleOf(undefined, [...thread])));
      const notes = [];
      for (const { id, url } of thread)
        notes.push({ url, relays: urls(), event: (await stored(urls()[0]!, { ids: [id] }))[0] });
      const asked = { recorder: nostrTools.url, of: 'nostr', act: 'read thread', input: notes };
      const body = JSON.stringify({ ...asked, login: { values: { password: KEY } } });
      expect(await (await fetch(nostrTools.url, { method: 'POST', body })).json()).toEqual({});
    });

    test('finds a note by its id, and none that no relay has', async () => {
      const handle = handleOf();
      const post = postOf('Find me');
      const published = await channel([urls()[0]!]).publish(post, {}, handle);
      await expect(
        channel(urls()).find!(post, {}, { since: new Date(), saved: handle.kept[0], thread: [] }),
      ).resolves.toMatchObject({
        id: published.id,
        saved: { relays: [urls()[0]] },
      });
      await expect(
        channel([urls()[1]!]).find!(post, {}, { since: new Date(), saved: handle.kept[0], thread: [] }),
      ).resolves.toBeUndefined();
      expect(
        await failureOf(
          channel(['ws://127.0.0.1:9']).find!(post, {}, { since: new Date(), saved: handle.kept[0], thread: [] }),
        ),
      ).toMatchObject({
        failure: 'unavailable',
      });
    });

    test('the relay refuses a changed note, the adapter a wrong key', async () => {
      const handle = handleOf();
      await channel([urls()[0]!]).publish(postOf('Original'), {}, handle);
      const tampered = { ...(handle.kept[0] as Event), content: 'Changed' };
      expect(await failureOf(channel([urls()[1]!]).publish(postOf('Original'), {}, handleOf(tampered)))).toMatchObject({
        failure: 'rejected',
      });
      expect(await stored(urls()[1]!, { ids: [tampered.id] })).toEqual([]);
      expect(await failureOf(channel(urls(), '0'.repeat(64)).profile())).toMatchObject({ failure: 'reauthorize' });
    });
  },
);
