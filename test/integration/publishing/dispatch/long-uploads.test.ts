import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { type Clock, systemClock } from '../../../../src/platform/kernel/index.ts';
import type { ClaimedPost, NewPost } from '../../../../src/publishing/posts/index.ts';
import { CALL_MS, LONGEST_CALL_MS, SLOT_LEASE_MS } from '../../../../src/publishing/posts/rules.ts';
import { social } from '../../../../src/providers/social/_contract.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { HEADS } from '../../../support/worlds/samples.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';
import { type Receiver, startReceiver } from '../../../support/wire/receiver.ts';
import { newPost, openPublishing, seedOrg, stateOf } from '../../../support/worlds/publishing/world.ts';

// A film that is published by one request, over a line on which that takes longer than any other call may last.

const FILM = Buffer.concat([HEADS['mp4']!, Buffer.alloc(8 * 1024 * 1024)]);
/** What the tools give to its bytes at the least: 64 of them a millisecond. */
const FILM_MS = FILM.length / 64;

let db: TestDatabase;
let site: Receiver;
beforeAll(async () => {
  db = await testDatabase();
  site = await startReceiver({ answer: (response) => void response.writeHead(200).end(FILM) });
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/**
 * A network that takes a piece of a body now and then, until its gate opens: then all that is left. `answersTexts`: what
 * comes without a file is answered at once.
 */
async function startNetwork({ answersTexts = false } = {}) {
  const takes = gate();
  const seen = { begun: 0, cut: 0, taken: [] as number[] };
  const server = createServer((message: IncomingMessage, response: ServerResponse) => {
    let bytes = 0;
    seen.begun += 1;
    message.on('error', () => {});
    response.on('close', () => void (seen.cut += response.writableFinished ? 0 : 1));
    message.on('data', (piece: Buffer) => {
      bytes += piece.length;
      message.pause();
      void Promise.race([takes.passed, systemClock.sleep(500)]).then(() => message.resume());
    });
    const isText = message.headers['content-type'] === 'application/json';
    message.on('end', () => {
      void (isText && answersTexts ? Promise.resolve() : takes.passed).then(() => {
        seen.taken.push(bytes);
        response.setHeader('content-type', 'application/json').end('{"id":"1"}');
      });
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const adapter = social({
    id: 'fake',
    version: 'v1',
    title: 'Slow',
    description: 'A network that takes films by one request.',
    status: 'active',
    authType: 'none',
    threads: 'reply',
    credentials: { server: { label: 'Server', required: false, secret: false } },
    api: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    login: { kind: 'credentials' },
    once: 'at-most-once',
    limits: { text: 100, unit: 'characters', media: 1, mediaTypes: ['video/*'] },
    settings: z.looseObject({}),
    profile: async () => ({ id: 'a', name: 'A', handle: '' }),
    async publish({ http, post: { media } }) {
      const body = media[0] ? { multipart: { file: media[0] } } : { json: {} };
      const { id } = await http.post('/posts', z.object({ id: z.string() }), { ...body, creates: true });
      return { id, url: '' };
    },
  });
  return {
    adapter,
    seen,
    takes: takes.open,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/**
 * A host whose heartbeats, and whose time, are the test's to give: `passes` lets so much of it pass, and with it the
 * wait of a call that is over by then; `renews` is the round that prolongs slots.
 */
async function openHost({ adapter }: Pick<Awaited<ReturnType<typeof startNetwork>>, 'adapter'>) {
  let later = 0;
  const waits = new Set<{ until: number; end: () => void }>();
  const rounds: (() => void)[] = [];
  const statements: string[] = [];
  const monotonic = () => systemClock.monotonic() + later;
  const clock: Clock = {
    ...systemClock,
    monotonic,
    sleep: (ms, signal) =>
      ms < CALL_MS / 4 || ms > LONGEST_CALL_MS
        ? systemClock.sleep(ms, signal)
        : new Promise((end, fail) => {
            waits.add({ until: monotonic() + ms, end });
            signal?.addEventListener('abort', () => fail(signal.reason), { once: true });
          }),
    every(ms, work) {
      if (ms !== 5_000) return systemClock.every(ms, work);
      rounds.push(work);
      return { [Symbol.dispose]: () => {} };
    },
  };
  let age = 0;
  const engine = {
    ...noEngine.engine,
    remindWithin: async () => () => {},
    heartbeatAgeMs: () => age,
    steadySince: () => 0,
  };
  const context = await openPublishing({
    url: db.url,
    adapters: [adapter],
    clock,
    engine: { ...noEngine, engine },
    onStatement: (text) => void statements.push(text),
  });
  const { posts, incarnation } = context;
  const beatAt = (seconds: number) => db.sql`
    insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
    values (${incarnation}, 'dapr', 'x', '{}', now() - ${seconds} * interval '1 second')
    on conflict (incarnation) do update set last_heartbeat = excluded.last_heartbeat`;
  await beatAt(0);
  return {
    posts,
    passes(ms: number) {
      later += ms;
      for (const wait of waits) if (wait.until <= monotonic() && waits.delete(wait)) wait.end();
    },
    async renews() {
      const before = renewals();
      for (const round of rounds) round();
      await systemClock.sleep(50); // a round without slots sends nothing
      return renewals() > before;
    },
    async silence() {
      age = 20_000;
      await beatAt(20);
    },
    [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
  };
  function renewals() {
    return statements.filter((text) => text.includes('set slot_until') && text.includes('unnest(')).length;
  }
}
type Host = Awaited<ReturnType<typeof openHost>>;

/** A post whose request has arrived at its network. */
async function underWay({ posts }: Host, { seen }: Awaited<ReturnType<typeof startNetwork>>, more?: Partial<NewPost>) {
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId, { media: [{ path: `${site.url}/film.mp4`, alt: '' }], ...more });
  await posts.admitPosts(orgId, [{ posts: [post], createdBy: orgId }]);
  const next = await posts.claimNext(orgId, channelId);
  if (next.kind !== 'claimed') throw new Error(`Not claimed: ${next.kind}`);
  const claimed: ClaimedPost = next.claimed;
  const ended = posts.sendPost(claimed).then(async (outcome) => {
    await posts.settleAttempt(claimed, outcome);
    return outcome;
  });
  await eventually('the request has arrived', () => seen.begun === 1);
  return { orgId, channelId, post, ended };
}
/** The network has lost the connection, and with it the rest of the film: it sees that once it reads on. */
async function isCut({ takes, seen }: Awaited<ReturnType<typeof startNetwork>>) {
  takes();
  await eventually('its connection is closed', () => seen.cut === 1);
  expect(seen).toMatchObject({ begun: 1, taken: [] });
}
const slotOf = async (channelId: string) =>
  (
    await db.sql<{ leftMs: number | null; incarnation: string | null }[]>`
      select (extract(epoch from slot_until - now()) * 1000)::float8 as "leftMs", slot_incarnation as incarnation
      from channels where id = ${channelId}`
  )[0]!;

/** So much time passes, in which the host says that it still holds the slot. */
async function passesHeld(host: Host, channelId: string, ms: number) {
  await db.sql`update channels set slot_until = now() + interval '1 second' where id = ${channelId}`;
  host.passes(ms);
  await eventually('its slot is prolonged', async () => {
    await host.renews();
    return ((await slotOf(channelId)).leftMs ?? 0) > SLOT_LEASE_MS - 30_000;
  });
}

test('a film is published once by a request that takes longer than a call without files', async () => {
  await using network = await startNetwork();
  await using host = await openHost(network);
  const { channelId, post, ended } = await underWay(host, network);
  for (let ms = 0; ms < FILM_MS; ms += 50_000) await passesHeld(host, channelId, 50_000);
  network.takes();
  expect(await ended).toMatchObject({ kind: 'published' });
  expect(network.seen).toEqual({ begun: 1, cut: 0, taken: [expect.any(Number)] });
  expect(network.seen.taken[0]).toBeGreaterThan(FILM.length);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
});

test('it ends when its bytes have had their time', async () => {
  await using network = await startNetwork();
  await using host = await openHost(network);
  const { channelId, post, ended } = await underWay(host, network);
  for (let ms = 0; ms < CALL_MS + FILM_MS - 40_000; ms += 40_000) await passesHeld(host, channelId, 40_000);
  host.passes(40_000); // its slot is its own for longer
  expect(await ended).toMatchObject({ kind: 'lost', message: expect.stringMatching(/^No answer within 2\d\d s$/) });
  await isCut(network);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'unconfirmed' });
});

test('it ends within the time of a usual call when its host cannot say that it is still sending', async () => {
  await using network = await startNetwork();
  await using host = await openHost(network);
  const { ended } = await underWay(host, network);
  host.passes(CALL_MS / 2);
  expect(await host.renews()).toBe(true);
  host.passes(CALL_MS + 1_000);
  expect(await ended).toMatchObject({ kind: 'lost', message: expect.stringMatching(/^No answer within 9\d s$/) });
  await isCut(network);
});

test('a silent host is replaced as early as ever, and breaks its request off when it learns of that', async () => {
  await using network = await startNetwork();
  await using host = await openHost(network);
  await using other = await openHost(network);
  const { orgId, channelId, post, ended } = await underWay(host, network);
  host.passes(CALL_MS - 5_000);
  await host.renews();
  await host.silence();
  await other.posts.sweeps.takeOver(10);
  const taken = await slotOf(channelId);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'unconfirmed' });
  host.passes(20_000);
  await host.renews();
  expect(await ended).toMatchObject({ kind: 'lost', message: 'This host was replaced while it was sending' });
  await isCut(network);
  expect(await slotOf(channelId)).toMatchObject({ incarnation: taken.incarnation });
  expect(await other.posts.findUnsettled(orgId, post.id, 'unconfirmed')).toMatchObject({ mayHaveSent: true });
});

test('a post without files has no longer than ever, and nothing is written while it is sent', async () => {
  await using network = await startNetwork();
  await using host = await openHost(network);
  const { ended } = await underWay(host, network, { media: [] });
  host.passes(CALL_MS - 5_000);
  expect(await host.renews()).toBe(false);
  host.passes(5_000);
  expect(await ended).toMatchObject({ kind: 'lost', message: 'No answer within 60 s' });
});

test('a film that is under way leaves the posts of other channels of its network a place', async () => {
  await using network = await startNetwork({ answersTexts: true });
  await using host = await openHost(network);
  const { posts } = host;
  const { orgId, channelId, channelIds } = await seedOrg(db.sql, 13);
  const file = { media: [{ path: `${site.url}/film.mp4`, alt: '' }] };
  const made = channelIds.map((id) => newPost(id, id === channelId ? file : {}));
  await posts.admitPosts(orgId, [{ posts: made, createdBy: orgId }]);
  const send = async (id: string) => {
    const next = await posts.claimNext(orgId, id);
    if (next.kind !== 'claimed') throw new Error(`Not claimed: ${next.kind}`);
    const outcome = await posts.sendPost(next.claimed);
    await posts.settleAttempt(next.claimed, outcome);
    return outcome.kind;
  };
  const upload = send(channelId);
  await eventually('the film has arrived', () => network.seen.begun === 1);
  const texts = await Promise.all(channelIds.slice(1).map(send));
  expect(texts).toEqual(Array(12).fill('published'));
  expect([network.seen.begun, network.seen.taken.filter((bytes) => bytes > FILM.length)]).toEqual([13, []]);
  network.takes();
  expect(await upload).toBe('published');
});
