import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, ProviderError, systemClock } from '../../../../src/platform/kernel/index.ts';
import type { Posts, ClaimedPost } from '../../../../src/publishing/posts/index.ts';
import { HEARTBEAT_LOOK_MS } from '../../../../src/publishing/posts/dispatch/publish.ts';
import { CALL_MS } from '../../../../src/publishing/posts/rules.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';
import {
  admit,
  clockWhere,
  type Network,
  newPost,
  openNetwork,
  openPublishing,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { localProviders } from '../../../support/worlds/providers.ts';

// One post, and two who could send it: a host that fell silent and came back, a call that lasted too long, a question
// that is asked for ever.

const HOUR = 3_600_000;
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

interface Host extends AsyncDisposable {
  posts: Posts;
  /** The host falls silent, and sends heartbeats again. */
  silence(): Promise<void>;
  wake(): Promise<void>;
}

/** The posts of one host, whose heartbeats are the test's to give. */
async function openHost(network: Network, clock: Clock = systemClock): Promise<Host> {
  const beatAt = (seconds: number) => db.sql`
    insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
    values (${incarnation}, 'dapr', 'x', '{}', now() - ${seconds} * interval '1 second')
    on conflict (incarnation) do update set last_heartbeat = excluded.last_heartbeat`;
  let age = 0;
  let steadySince = 0;
  const engine = {
    ...noEngine.engine,
    remindWithin: async () => () => {},
    heartbeatAgeMs: () => age,
    steadySince: () => steadySince,
  };
  const context = await openPublishing({
    url: db.url,
    network,
    clock,
    env: { PROVIDER_CALLS_IN_FLIGHT: '1' },
    engine: { ...noEngine, engine },
  });
  const { posts, incarnation } = context;
  await beatAt(0);
  return {
    posts,
    async silence() {
      age = 20_000;
      await beatAt(20);
    },
    async wake() {
      steadySince = performance.now();
      age = 0;
      await beatAt(0);
    },
    [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
  };
}

async function take({ posts }: Host, orgId: string, channelId: string): Promise<ClaimedPost> {
  const next = await posts.claimNext(orgId, channelId);
  if (next.kind !== 'claimed') throw new Error(`Not claimed: ${next.kind}`);
  return next.claimed;
}

/** A host with one post under way, which ends when the gate opens, and one behind it that waits for its turn. */
async function withOneWaiting(a: Host, network: Network) {
  const free = gate();
  network.behave = async (post, _sent, accept) => {
    if (post.text === 'first') await free.passed;
    return accept();
  };
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const [first, second] = [
    newPost(channelIds[0]!, { content: 'first' }),
    newPost(channelIds[1]!, { content: 'second' }),
  ];
  await a.posts.admitPosts(orgId, [{ posts: [first, second], createdBy: orgId }]);
  const sending = a.posts.sendPost(await take(a, orgId, channelIds[0]!));
  await eventually('the first is under way', () => network.asked.length === 1);
  const waiting = a.posts.sendPost(await take(a, orgId, channelIds[1]!));
  await eventually('the second waits', () => a.posts.gauges.waiting === 1);
  return { orgId, channelId: channelIds[1]!, second, free, sending, waiting };
}
const accepted = (network: Network, { id }: { id: string }) =>
  network.taken.filter(({ postId }) => postId === id).length;

describe.each(['read-back', 'own-id', 'at-most-once'] as const)(
  'a host that resumes its heartbeats, on a network that is %s',
  (once) => {
    test('does not send a post that another host took over and sent meanwhile [R7]', async () => {
      const network = Object.assign(openNetwork(), { once, settlesWithinMs: 0 });
      await using a = await openHost(network);
      await using b = await openHost(network);
      const { orgId, channelId, second, free, sending, waiting } = await withOneWaiting(a, network);
      await a.silence();
      await b.posts.sweeps.takeOver(10);
      const unsettled = (await b.posts.findUnsettled(orgId, second.id, 'unconfirmed'))!;
      await b.posts.settleAttempt(unsettled, (await b.posts.lookUp(unsettled, 'unconfirmed'))!, 'unconfirmed');
      const again = await take(b, orgId, channelId);
      await b.posts.settleAttempt(again, await b.posts.sendPost(again));
      expect(accepted(network, second)).toBe(1);
      await a.wake();
      free.open();
      await sending;
      expect(await waiting).toEqual({ kind: 'not-sent' });
      expect(accepted(network, second)).toBe(1);
    });
  },
);

test('a host that resumes its heartbeats sends what nobody took over, after reading the rows', async () => {
  const network = openNetwork();
  await using a = await openHost(network);
  const { second, free, sending, waiting } = await withOneWaiting(a, network);
  await a.silence();
  await a.wake();
  free.open();
  await sending;
  expect(await waiting).toMatchObject({ kind: 'published' });
  expect(accepted(network, second)).toBe(1);
});

test('a host whose heartbeat only looks old, as its wall clock was set forward, waits for the next one and sends', async () => {
  const network = openNetwork();
  let wake = async () => {};
  const looks = clockWhere((ms) => (ms === HEARTBEAT_LOOK_MS ? wake() : ms));
  await using a = await openHost(network, looks);
  wake = () => a.wake();
  const { second, free, sending, waiting } = await withOneWaiting(a, network);
  await a.silence();
  free.open();
  await sending;
  expect(await waiting).toMatchObject({ kind: 'published' });
  expect(accepted(network, second)).toBe(1);
});

test('a second request that one host could not send is claimed by one other', async () => {
  const network = Object.assign(openNetwork(), { once: 'key' as const });
  await using a = await openHost(network);
  await using b = await openHost(network);
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  await a.posts.admitPosts(orgId, [{ posts: [post], createdBy: orgId }]);
  network.behave = async () => Promise.reject(new ProviderError('lost', 'gone'));
  const first = await take(a, orgId, channelId);
  await a.posts.settleAttempt(first, await a.posts.sendPost(first));
  const unsettled = (await a.posts.findUnsettled(orgId, post.id, 'unconfirmed'))!;
  await a.posts.settleAttempt(unsettled, (await a.posts.lookUp(unsettled, 'unconfirmed'))!, 'unconfirmed');
  await a.posts.settleAttempt(await take(a, orgId, channelId), { kind: 'not-sent' });
  expect(await stateOf(db.sql, post.id)).toMatchObject({ attempt: 2, detail: 'unconfirmed' });
  network.behave = undefined;
  const claims = await Promise.all([a, b].map(({ posts }) => posts.claimNext(orgId, channelId)));
  const claimed = claims.flatMap((next) => (next.kind === 'claimed' ? next.claimed : []));
  expect(claimed).toHaveLength(1);
  await b.posts.settleAttempt(claimed[0]!, await b.posts.sendPost(claimed[0]!));
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 3 });
  expect(accepted(network, post)).toBe(1);
});

test('a call past its time limit has its connection closed before the post counts as lost', async () => {
  const network = openNetwork();
  const never = gate();
  const ended = gate();
  network.behave = async (_post, { wait }) => {
    void wait(HOUR).catch(ended.open);
    return never.passed.then(() => Promise.reject(new ProviderError('lost', 'gone')));
  };
  await using world = await startPublisher({
    url: db.url,
    network,
    clock: clockWhere((ms) => (ms === CALL_MS ? 50 : ms)),
  });
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  await admit(world, orgId, [post]);
  await eventually('it counts as lost', async () => (await stateOf(db.sql, post.id)).detail === 'unconfirmed');
  await ended.passed;
  never.open();
});

test('a closed connection aborts the request under way, and none of the steps behind it is sent', async () => {
  const seen: string[] = [];
  const broken = gate();
  const begun = gate();
  const server = createServer((request: IncomingMessage, response) => {
    if (request.method === 'POST') seen.push(request.url!);
    if (request.url === '/api/v2/media') {
      begun.open();
      response.on('close', broken.open);
      return;
    }
    response.setHeader('content-type', 'application/json').end('{"domain":"a.example"}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  await using _closed = {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using providers = localProviders();
  const adapter = providers.resolve('social', 'mastodon');
  const ended = new AbortController();
  const social = providers.connect(adapter, {
    values: { instance: origin },
    account: '1',
    tokens: { accessToken: 't' },
    ended: ended.signal,
  });
  const picture = await mediaOf(new Uint8Array(10), {
    name: 'a.png',
    contentType: 'image/png',
    alt: '',
    publicUrl: `${origin}/a.png`,
  });
  const publishing = social.publish(
    { id: 'p', text: 'Hi', plain: 'Hi', media: [picture] },
    {},
    { saved: undefined, save: async () => {}, thread: [] },
  );
  const outcome = expect(publishing).rejects.toBeInstanceOf(Error);
  await begun.passed;
  ended.abort();
  await broken.passed;
  await outcome;
  await expect(
    social.publish(
      { id: 'p', text: 'Hi', plain: 'Hi', media: [] },
      {},
      { saved: undefined, save: async () => {}, thread: [] },
    ),
  ).rejects.toBeInstanceOf(Error);
  expect(seen).toEqual(['/api/v2/media']);
});

test('a network that never answers lookups gets one per post at a time, and few at a time in all', async () => {
  const network = openNetwork();
  const never = gate();
  const under = new Map<string, number>();
  let twice = 0;
  network.find = async ({ id }) => {
    if (under.has(id)) twice += 1;
    under.set(id, 1);
    await never.passed;
    return undefined;
  };
  await using world = await startPublisher({ url: db.url, network, env: { PROVIDER_CALLS_IN_FLIGHT: '32' } });
  const { orgId, channelIds } = await seedOrg(db.sql, 41);
  const [answered, ...others] = channelIds as [string, ...string[]];
  await admit(world, orgId, [newPost(answered)]); // else the network is taken for one that is down
  await settled(db.sql, orgId);
  network.behave = async () => Promise.reject(new ProviderError('lost', 'gone'));
  await Promise.all(others.map((id) => admit(world, orgId, [newPost(id)])));
  await settled(db.sql, orgId, { details: ['unconfirmed'] });
  await eventually('the network is being asked', () => under.size > 0);
  for (let n = 0; n < 3; n++) {
    await db.sql`
      update posts
      set look_up_at = now() - interval '1 minute'
      where org_id = ${orgId} and detail = 'unconfirmed'`; // as time goes by
    await world.reconciler.sweep();
    await eventually('all were noted', async () => {
      const [left] = await db.sql<
        { n: number }[]
      >`select count(*)::int as n from posts where org_id = ${orgId} and look_up_at < now()`;
      return left!.n === 0;
    });
  }
  expect([under.size <= 8, twice]).toEqual([true, 0]);
  const other = await seedOrg(db.sql, 1, () => 'https://another.example'); // whose server answers is not held up
  network.behave = undefined;
  await admit(world, other.orgId, [newPost(other.channelId)]);
  await settled(db.sql, other.orgId);
  never.open();
});

test('posts of an organization are published while another has more hanging servers than the limiter has turns', async () => {
  const network = openNetwork();
  const never = gate();
  network.behave = async (post, _sent, accept) => {
    if (post.text === 'hangs') await never.passed;
    return accept();
  };
  await using world = await startPublisher({ url: db.url, network, env: { PROVIDER_CALLS_IN_FLIGHT: '16' } });
  const [hanging, other] = [
    await seedOrg(db.sql, 40, (channelId) => `https://${channelId}.example`),
    await seedOrg(db.sql),
  ];
  await Promise.all(hanging.channelIds.map((id) => admit(world, hanging.orgId, [newPost(id, { content: 'hangs' })])));
  await eventually('all of them are taken', async () => {
    const [row] = await db.sql<
      { n: number }[]
    >`select count(*)::int as n from posts where org_id = ${hanging.orgId} and detail = 'publishing'`;
    return row!.n === 40;
  });
  await admit(world, other.orgId, [newPost(other.channelId)]);
  await settled(db.sql, other.orgId);
  // while none of those that hang has ended; a post of another test may be taken over here
  expect(network.taken.filter(({ channelId }) => hanging.channelIds.includes(channelId))).toEqual([]);
  never.open();
  await settled(db.sql, hanging.orgId);
});
