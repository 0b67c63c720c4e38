import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { routes } from '../../../api/resources/routes.gen.ts';
import {
  actorContract,
  actorsOf,
  createHost,
  type Engine,
  implementFor,
  method,
} from '../../../src/platform/actor-runtime/index.ts';
import { openSidecar } from '../../../src/platform/actor-runtime/dapr/sidecar.ts';
import { noteNudges } from '../../../src/platform/actor-runtime/nudges.ts';
import { openLimiter } from '../../../src/platform/flow/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openGuard } from '../../../src/platform/outbound/guard.ts';
import { openPools, socketConnector } from '../../../src/platform/outbound/pools.ts';
import { openWorks } from '../../../src/publishing/posts/dispatch/work.ts';
import type { ClaimedPost } from '../../../src/publishing/posts/dispatch/attempt.ts';
import { claimNext } from '../../../src/publishing/posts/dispatch/attempts.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { testApp } from '../../support/worlds/app.ts';
import { probes, probeState, resetProbes } from '../../support/worlds/ladder.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

// Whatever waits in a process waits in a queue with an end: one more is told so, at once and by its type.

/** A queue of one place and two that wait: what is asked of it ends when it is opened. */
interface Queue {
  ask(): Promise<unknown>;
  open(): void;
  close?(): Promise<unknown>;
}
/** A server that answers when the door is open. */
async function slowServer(open: Promise<void>) {
  const server = createServer((request, response) => {
    request.resume();
    void open.then(() => response.end('{}'));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

const queues: Record<string, () => Promise<Queue>> = {
  async 'a limiter'() {
    const door = gate();
    const limiter = openLimiter({ total: 1, waiting: 2, waitingOfOne: 2 });
    return {
      open: door.open,
      async ask() {
        using _ = await limiter.enter('org');
        await door.passed;
      },
    };
  },
  async 'the mailbox of an actor'() {
    const door = gate();
    const contract = actorContract('Slow', { methods: { run: method({ input: z.strictObject({}) }) }, reminders: {} });
    const slow = implementFor<object>()(contract, {
      state: z.object({}),
      methods: { run: () => door.passed },
      reminders: {},
    });
    const engine = { name: 'embedded', invoke: (to, name, input) => host.call(to, name, input) } as Engine;
    const actors = actorsOf(engine);
    const host = createHost({
      implementations: [slow],
      needs: {},
      actors,
      clock: systemClock,
      log: quietLog(),
      limits: { mailbox: 2 },
    });
    const nothing = async () => {};
    host.attach({ remind: nothing, forget: nothing, loadState: nothing, saveState: nothing });
    return { open: door.open, ask: () => actors(contract, 'a').run({}), close: async () => host.refuse() };
  },
  async 'the nudges of a host'() {
    const door = gate();
    let n = 0;
    const nudges = noteNudges({ atWork: 1, waiting: 2, work: () => door.passed });
    return {
      open: door.open,
      ask: async () => nudges.note({ to: { type: 'Slow', id: `${n++}` }, name: 'due', data: undefined, owner: 'org' }),
    };
  },
  async 'requests to a sidecar'() {
    const door = gate();
    const { port, close } = await slowServer(door.passed);
    const sidecar = openSidecar({ port, token: undefined, connections: 1, waiting: 2 });
    return {
      open: door.open,
      ask: () => sidecar.ask('calls', { method: 'GET', path: '/' }),
      close: () => sidecar.close().then(close),
    };
  },
  async 'requests to one address'() {
    const door = gate();
    const { port, close } = await slowServer(door.passed);
    const guard = openGuard(['127.0.0.1/32']);
    const beneath = { connector: socketConnector(), proxied: false };
    const pools = openPools(guard, beneath, { connections: 1, waiting: 2 });
    return {
      open: door.open,
      ask: async () => {
        const url = new URL(`http://127.0.0.1:${port}/`);
        const { body } = await pools.request(url, '127.0.0.1', { method: 'GET' });
        await body.dump();
      },
      close: () => pools[Symbol.asyncDispose]().then(close),
    };
  },
};

test.each(Object.entries(queues))(
  '%s: one more than may wait is busy, with a time to come again, and those that wait are served [R15]',
  async (_, open) => {
    const queue = await open();
    const waiting = [queue.ask(), queue.ask(), queue.ask()];
    await expect(queue.ask()).rejects.toMatchObject({
      code: 'busy',
      status: 503,
      extra: { retryAfterMs: expect.any(Number) },
    });
    queue.open();
    await Promise.all(waiting);
    await queue.ask(); // there is room again
    await queue.close?.();
  },
);

describe('posts in hand', () => {
  const post = (orgId: string) => ({ orgId }) as ClaimedPost;

  test('of one organization and of all have a bound, and room comes back as they end [R15]', () => {
    const heartbeat = { heartbeatAgeMs: () => 0, steadySince: () => 0 };
    const options = { sql: undefined as never, clock: systemClock, heartbeat, log: quietLog() };
    using works = openWorks(options, { inAll: 3, ofOne: 2 });
    const [first] = [works.begin(post('a')), works.begin(post('a'))];
    expect([works.hasRoomFor('a'), works.hasRoomFor('b')]).toEqual([false, true]);
    works.begin(post('b'));
    expect([works.hasRoomFor('a'), works.hasRoomFor('b')]).toEqual([false, false]);
    works.end(first);
    works.end(first); // twice is once
    expect([works.hasRoomFor('a'), works.hasRoomFor('b')]).toEqual([true, true]);
  });

  test('without room for one more none is claimed: it stays a row [R15]', async () => {
    const deps = {
      sender: { closed: false, hasRoomFor: (orgId: string) => orgId !== 'a' },
      claim: async () => 'asked',
    };
    expect(await claimNext(deps as never, 'a', 'c')).toEqual({ kind: 'idle' });
    expect(await claimNext(deps as never, 'b', 'c')).toBe('asked');
  });
});

describe('the API', () => {
  afterAll(resetProbes);

  test('answers 503 with Retry-After where the handlers of an organization take all that it may have [R15]', async () => {
    await using db = await testDatabase();
    await using app = await testApp({ sql: db.sql, routes: [...routes, ...probes], atWork: 4 });
    const [ann, bob] = [await app.signUp(), await app.signUp()];
    const door = gate();
    probeState.gate = door.passed;
    const ask = ({ client }: typeof ann) => client.get('/public/v1/both');
    const served = [ask(ann), ask(ann)];
    await eventually('two are at work', () => probeState.seen.length === 2);
    const refused = await ask(ann);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.body).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'Too much at once, try again shortly',
      msg: 'Too much at once, try again shortly',
      code: 'busy',
      retryAfter: 1,
    });
    const other = ask(bob);
    await eventually('another organization is served', () => probeState.seen.length === 3);
    door.open();
    for (const { status } of await Promise.all([...served, other])) expect(status).toBe(200);
    expect((await ask(ann)).status).toBe(200);
  });

  test('makes one list of any length at a time, and parts of lists beside it [R15]', async () => {
    await using db = await testDatabase();
    const door = gate();
    let [begun, parts, now, most] = [0, 0, 0, 0];
    const gated = routes.map((route) =>
      route.path !== '/public/v1/posts' || route.method !== 'get'
        ? route
        : {
            ...route,
            async handle({ query }: Parameters<typeof route.handle>[0]) {
              if (query.limit === undefined) {
                begun += 1;
                most = Math.max(most, ++now);
                await door.passed;
                now -= 1;
              } else parts += 1;
              return { posts: [] };
            },
          },
    );
    await using app = await testApp({ sql: db.sql, routes: gated });
    const keys = await Promise.all([app.signUp(), app.signUp()].map(async (one) => (await one).withKey()));
    const lists = keys.flatMap((key) => [1, 2, 3].map(() => key.get('/public/v1/posts')));
    await eventually('one is made', () => begun === 1);
    for (const key of keys) expect((await key.get('/public/v1/posts?limit=5')).status).toBe(200);
    expect([begun, parts]).toEqual([1, 2]);
    door.open();
    for (const { status } of await Promise.all(lists)) expect(status).toBe(200);
    expect([begun, most]).toEqual([6, 1]);
  });

  type Text = () => AsyncGenerator<string>;
  const slow: Record<string, (text: Text) => Partial<(typeof probes)[number]>> = {
    'a file': (text) => ({ present: () => Readable.from(text()) }),
    'a CSV': (text) => ({ query: z.object({ format: z.string() }), csv: text }),
  };

  test.each(Object.entries(slow))(
    '%s that is read slowly keeps no other request from being handled [R15]',
    async (_, sending) => {
      await using db = await testDatabase();
      const door = gate();
      const sends = sending(async function* text() {
        yield 'begun';
        await door.passed;
        yield ', ended';
      });
      await using app = await testApp({
        sql: db.sql,
        routes: probes.map((route) => (route.path === '/probe/bytes' ? { ...route, ...sends } : route)),
        atWork: 2,
      });
      const read = () => fetch(`${app.address}/probe/bytes?format=csv`);
      const answers = [await read(), await read()];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect((await app.client().get('/probe/rooms')).status).toBe(200);
      door.open();
      expect(await Promise.all(answers.map((one) => one.text()))).toEqual(['begun, ended', 'begun, ended']);
    },
  );
});
