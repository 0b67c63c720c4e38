import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { encodeNpub, type NostrEvent, publicKeyOf, signEvent } from '../../../../src/providers/kit/protocols/nostr.ts';
import { ask, list } from '../../../../src/providers/social/_nostr-queries.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { localProviders } from '../../../support/worlds/providers.ts';
import { type Peer, startWebSocketServer } from '../../../support/wire/websocket-server.ts';

const KEY = '5d'.repeat(32);
const PUBLIC = publicKeyOf(new Uint8Array(Buffer.from(KEY, 'hex')));
const card = (name: string, created_at: number, key = KEY) =>
  JSON.stringify([
    'EVENT',
    'q',
    signEvent(
      { created_at, kind: 0, tags: [], content: JSON.stringify({ name }) },
      new Uint8Array(Buffer.from(key, 'hex')),
    ),
  ]);

/** A relay that answers whatever it is told with `said`, and a promise for the end of its connection. */
async function startRelay(said: (peer: Peer) => Promise<void>) {
  const ended = Promise.withResolvers<void>();
  const server = await startWebSocketServer({ onText: (peer) => void said(peer).then(ended.resolve, ended.reject) });
  return { ...server, ended: ended.promise };
}

test('takes the first matching event of a relay, and disconnects while it goes on sending', async () => {
  await using relay = await startRelay(async (peer) => {
    peer.send(card('Somebody else', 900, 'a1'.repeat(32)));
    peer.send(card('First', 100));
    await peer.pour(card('Later', 1_000));
  });
  await using providers = localProviders();
  const channel = providers.connect(providers.resolve('social', 'nostr'), {
    values: { password: KEY, relays: relay.url },
    account: PUBLIC,
  });
  await expect(channel.profile()).resolves.toMatchObject({ id: PUBLIC, name: 'First', handle: encodeNpub(PUBLIC) });
  await relay.ended;
});

test('a relay that sends other messages without end has not answered', async () => {
  await using relay = await startRelay((peer) => peer.pour(card('Somebody else', 100, 'a1'.repeat(32))));
  await using providers = localProviders();
  const channel = providers.connect(providers.resolve('social', 'nostr'), {
    values: { password: KEY, relays: relay.url },
    account: PUBLIC,
  });
  expect(await failureOf(channel.profile())).toMatchObject({ failure: 'unavailable', message: 'No relay answered' });
  await relay.ended;
});

test.each([
  ['of no use', JSON.stringify(['NOTICE', 'hello']), 300],
  ['long', JSON.stringify(['NOTICE', 'x'.repeat(64_000)]), 25],
])('messages that are %s are heard so far and no further, over all relays together', async (_, message, most) => {
  let heard = 0;
  const sockets = {
    open: async () => ({
      send: () => {},
      close: () => {},
      async next() {
        heard += 1;
        return message;
      },
    }),
  };
  const relays = ['ws://a', 'ws://b', 'ws://c', 'ws://d'];
  expect(
    await failureOf(ask({ sockets, clock: systemClock, timeoutMs: 60_000 }, relays, { kinds: [0] })),
  ).toMatchObject({ failure: 'unavailable' });
  expect(heard).toBeGreaterThan(4);
  expect(heard).toBeLessThanOrEqual(most);
});

test('a list of events is heard so far and no further, and goes on before its last event', async () => {
  let heard = 0;
  const sockets = {
    open: async () => ({
      send: () => {},
      close: () => {},
      async next() {
        heard += 1;
        return card(`Number ${heard}`, 10_000 - heard);
      },
    }),
  };
  const line = { sockets, clock: systemClock, timeoutMs: 60_000 };
  const { found, until } = await list(line, ['ws://a'], { kinds: [0], limit: 10 });
  expect([heard, found.length, until]).toEqual([30, 30, 10_000 - 30 - 1]);
});

/** What a relay can make of an event of somebody whose key it does not have. */
const FORGERIES: readonly [what: string, forge: (event: NostrEvent) => NostrEvent][] = [
  ['with another content below the id and the signature of a true one', (event) => ({ ...event, content: '{}' })],
  ['with a signature of something else', (event) => ({ ...event, sig: signed({ ...event, content: '' }).sig })],
  ['signed by another key', (event) => ({ ...signed(event, 'a1'.repeat(32)), pubkey: event.pubkey })],
  ['whose id is that of another event', (event) => ({ ...event, id: signed({ ...event, kind: 3 }).id })],
];
const signed = ({ created_at, kind, tags, content }: Omit<NostrEvent, 'id' | 'pubkey' | 'sig'>, key = KEY) =>
  signEvent({ created_at, kind, tags, content }, new Uint8Array(Buffer.from(key, 'hex')));
const told = (event: NostrEvent) => JSON.stringify(['EVENT', 'q', event]);
const POST = 'e'.repeat(64);

describe.each(FORGERIES)('an event %s', (_, forge) => {
  const talk = { created_at: 200, content: 'Mine', tags: [['e', POST, '', 'root']] };
  const all = [
    signed({ kind: 0, tags: [], content: '{"name":"True"}', created_at: 100 }),
    signed({ ...talk, kind: 1 }),
    signed({ ...talk, kind: 6 }),
    signed({ ...talk, kind: 7 }),
  ];

  test('is nobody’s name, comment, repost or like', async () => {
    await using relay = await startRelay(async (peer) => {
      for (const event of all) peer.send(told(forge(event)));
      peer.send(JSON.stringify(['EOSE', 'q']));
    });
    await using providers = localProviders();
    const channel = providers.connect(providers.resolve('social', 'nostr'), {
      values: { password: KEY, relays: relay.url },
      account: PUBLIC,
    });
    const post = { id: POST, url: '' };
    expect((await channel.profile()).name).not.toBe('True');
    await expect(channel.comments!(post)).resolves.toEqual({ comments: [] });
    await expect(channel.metrics!([post])).resolves.toEqual([
      { id: POST, counts: { likes: 0, dislikes: 0, reposts: 0, comments: 0 } },
    ]);
  });

  test('does not hide the true one, which another relay or the same one has', async () => {
    const relays = ['ws://liar', 'ws://honest'];
    const says = { 'ws://liar': all.flatMap((event) => [forge(event), event]), 'ws://honest': all };
    const sockets = {
      async open(relay: string) {
        const left = [...says[relay as keyof typeof says].map(told), JSON.stringify(['EOSE', 'q'])];
        return { send: () => {}, close: () => {}, next: async () => left.shift() };
      },
    };
    const line = { sockets, clock: systemClock, timeoutMs: 60_000 };
    await expect(ask(line, relays, { kinds: [0] })).resolves.toEqual({ event: all[0], relays });
    const { found } = await list(line, relays, { kinds: [1, 6, 7], limit: 100 });
    expect(found.map(({ event }) => event)).toEqual(expect.arrayContaining(all.slice(1)));
    expect(found.map((held) => held.relays)).toEqual([relays, relays, relays]);
  });
});

test.each([
  ['believes what comes before', 500, ['True']],
  ['believes nothing after', 1_000, []],
])('a question %s it has verified a thousand signatures', async (_, forgeries, believed) => {
  const forged = Array.from({ length: forgeries }, (__, n) => {
    const draft = { pubkey: PUBLIC, created_at: n, kind: 0, tags: [], content: '' };
    const hash = createHash('sha256').update(JSON.stringify([0, PUBLIC, n, 0, [], '']));
    return { ...draft, id: hash.digest('hex'), sig: 'f'.repeat(128) };
  });
  const left = [...forged.map(told), card('True', 100), JSON.stringify(['EOSE', 'q'])];
  const sockets = { open: async () => ({ send: () => {}, close: () => {}, next: async () => left.shift() }) };
  const line = { sockets, clock: systemClock, timeoutMs: 60_000 };
  const asked = list(line, ['ws://a'], { kinds: [0], limit: 1_500 });
  const { found } = await asked.catch(() => ({ found: [] }));
  expect(found.map(({ event }) => (JSON.parse(event.content) as { name: string }).name)).toEqual(believed);
});
