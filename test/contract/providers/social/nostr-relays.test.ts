import { expect, test } from '@jest/globals';
import { encodeNpub, publicKeyOf, signEvent } from '../../../../src/providers/kit/protocols/nostr.ts';
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
