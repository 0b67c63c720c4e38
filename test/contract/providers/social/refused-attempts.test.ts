import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import type { Published } from '../../../../src/providers/registry/index.ts';
import bluesky from '../../../fixtures/providers/social-servers/bluesky.ts';
import { startRelay } from '../../../fixtures/providers/social-servers/nostr.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';

// A feed is sorted by the times that records name: of an attempt that surely made nothing, none is kept.

/** How long before the second attempt the first one was, in milliseconds. */
const EARLIER_MS = 40_000;
const earlier = { ...systemClock, now: () => new Date(systemClock.now().getTime() - EARLIER_MS) };
let network: Awaited<ReturnType<typeof bluesky.start>>;
let relays: [Awaited<ReturnType<typeof startRelay>>, Awaited<ReturnType<typeof startRelay>>];
beforeEach(async () => {
  network = await bluesky.start();
  relays = [await startRelay(), await startRelay()];
});
afterEach(async () => {
  for (const server of [network, ...relays]) {
    await server[Symbol.asyncDispose]();
    expect(server.faults).toEqual([]);
  }
});
const age = (time: number) => Math.abs(systemClock.now().getTime() - time);

/** One attempt at a post, with the clock of its time. */
async function attempt(id: 'bluesky' | 'nostr', handle: ReturnType<typeof handleOf>, clock = systemClock) {
  const isNostr = id === 'nostr';
  const values = isNostr
    ? { password: '5d'.repeat(32), relays: relays.map(({ url }) => url).join(', ') }
    : network.values;
  await using providers = localProviders({ clock, ...(!isNostr && network.servers && { servers: network.servers }) });
  const channel = providers.connect(providers.resolve('social', id), {
    values,
    account: network.account,
    tokens: isNostr ? undefined : network.tokens,
  });
  return channel.publish(post, {}, handle);
}
const post = postOf('Once');

/** The time that a published record names, in milliseconds. */
async function recordedAt({ id }: Published): Promise<number> {
  const url = new URL(`${network.values['service']}/xrpc/com.atproto.repo.getRecord`);
  const [repo = '', collection = '', rkey = ''] = id.replace('at://', '').split('/');
  url.search = new URLSearchParams({ repo, collection, rkey }).toString();
  const { value } = (await (await fetch(url)).json()) as { value: { createdAt: string } };
  return Date.parse(value.createdAt);
}

const SLOW_DOWN = { status: 429, body: { error: 'RateLimitExceeded', message: 'Rate Limit Exceeded' } };
const CREATE = 'POST /xrpc/com.atproto.repo.createRecord';

test('a record that Bluesky refused is made with the time of the next attempt, below the same key', async () => {
  const first = handleOf();
  network.on(CREATE, SLOW_DOWN, 1);
  expect(await failureOf(attempt('bluesky', first, earlier))).toMatchObject({ failure: 'rate_limited' });
  const second = handleOf(first.kept.at(-1));
  const published = await attempt('bluesky', second);
  expect(age(await recordedAt(published))).toBeLessThan(EARLIER_MS / 2);
  expect(published.id.split('/').at(-1)).toBe((first.kept[0] as { rkey: string }).rkey);
  expect(network.posts).toHaveLength(1);
});

test('a record whose answer was lost keeps its time, also behind a refusal', async () => {
  const first = handleOf();
  network.on(CREATE, 'hang-up', 1);
  expect(await failureOf(attempt('bluesky', first, earlier))).toMatchObject({ failure: 'lost' });
  const second = handleOf(first.kept.at(-1));
  network.on('POST /xrpc/com.atproto.repo.putRecord', SLOW_DOWN, 1);
  expect(await failureOf(attempt('bluesky', second))).toMatchObject({ failure: 'rate_limited' });
  expect(second.kept).toEqual([]);
  const published = await attempt('bluesky', handleOf(first.kept.at(-1)));
  expect(age(await recordedAt(published))).toBeGreaterThan(EARLIER_MS / 2);
});

test('a note that every relay refused is signed anew', async () => {
  const first = handleOf();
  relays[0].on('EVENT', { reason: 'rate-limited: slow down' }, 1);
  relays[1].on('EVENT', { reason: 'error: try again later' }, 1);
  expect(await failureOf(attempt('nostr', first, earlier))).toMatchObject({ failure: 'rate_limited' });
  const { id } = await attempt('nostr', handleOf(first.kept.at(-1)));
  for (const { events } of relays)
    expect([...events.values()].map((event) => [event.id, age(event.created_at * 1_000) < EARLIER_MS / 2])).toEqual([
      [id, true],
    ]);
});

test('a note that one relay may have stays the same', async () => {
  const first = handleOf();
  relays[0].on('EVENT', { reason: 'rate-limited: slow down' }, 1);
  relays[1].on('EVENT', 'accept-then-hang-up', 1);
  expect(await failureOf(attempt('nostr', first, earlier))).toMatchObject({ failure: 'lost' });
  const second = handleOf(first.kept.at(-1));
  for (const relay of relays) relay.on('EVENT', { reason: 'rate-limited: slow down' }, 1);
  expect(await failureOf(attempt('nostr', second))).toMatchObject({ failure: 'rate_limited' });
  expect(second.kept).toEqual([]);
  const { id } = await attempt('nostr', handleOf(first.kept.at(-1)));
  for (const { events } of relays) expect([...events.keys()]).toEqual([id]);
});
