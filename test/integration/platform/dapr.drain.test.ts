import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { checkProbe } from '../../../src/platform/actor-runtime/dapr/index.ts';
import { Fenced } from '../../../src/platform/actor-runtime/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { settles } from '../../support/wire/settles.ts';
import { openThingHosts, put } from '../../support/processes/thing-host.ts';

const hosts = await openThingHosts();
const { start, sql } = hosts;
afterEach(() => hosts.end());
afterAll(() => hosts.close());

describe('the document of an actor on Dapr', () => {
  const writes = (asked: readonly { method: string; path: string; body: string }[]) =>
    asked.filter(({ method: verb, path }) => verb === 'POST' && path.endsWith('/state')).map(({ body }) => body);

  test('is read once, written at the end of a turn that changes it, and dropped when the turn fails', async () => {
    const { ask, fake } = await start({
      answer: ({ method: verb }) => (verb === 'GET' ? { body: '{"n":41}' } : { status: 204 }),
    });
    expect((await ask('PUT', put('a', 'count'), {})).text).toBe('42');
    await ask('PUT', put('a', 'nothing'), {});
    expect(fake.asked.map(({ method: verb, path }) => `${verb} ${path}`)).toEqual([
      'GET /v1.0/actors/Thing/a/state/doc',
      'POST /v1.0/actors/Thing/a/state',
    ]);
    expect(JSON.parse(writes(fake.asked)[0]!)).toEqual([
      { operation: 'upsert', request: { key: 'doc', value: { n: 42 } } },
    ]);
    expect(JSON.parse((await ask('PUT', put('a', 'count'), { fail: true })).text)).toMatchObject({ code: 'not_found' });
    expect(writes(fake.asked)).toHaveLength(1);
    // read again: what the failed turn changed is gone
    expect((await ask('PUT', put('a', 'count'), {})).text).toBe('42');
  });

  test('fences the turn of a host that lost it: the turn fails and the caller is sent to the new host', async () => {
    const { ask, host } = await start({
      answer: ({ method: verb }) =>
        verb === 'GET'
          ? { status: 204 }
          : { status: 400, body: '{"errorCode":"ERR_ACTOR_INSTANCE_MISSING","message":"x"}' },
    });
    expect(JSON.parse((await ask('PUT', put('a', 'count'), {})).text)).toMatchObject({ code: 'draining' });
    expect(host.activations()).toEqual({ Thing: 0 });
    expect(new Fenced('x')).toBeInstanceOf(Error);
  });

  test('fails the turn when it cannot be written', async () => {
    const { ask } = await start({
      answer: ({ method: verb }) => (verb === 'GET' ? { status: 204 } : { status: 500, body: '{}' }),
    });
    expect(JSON.parse((await ask('PUT', put('a', 'count'), {})).text)).toMatchObject({ code: 'internal' });
  });
});

describe('drain of a Dapr host', () => {
  /**
   * A host whose engine has a clock that stands still, but for the seconds that the test lets pass; daprd probes in
   * each of them.
   */
  async function startHeld(more: Parameters<typeof start>[0] = {}) {
    let at = 0;
    const started = await start({ ...more, options: { clock: { ...systemClock, monotonic: () => at } } });
    const probe = async () => (await started.ask('GET', '/healthz', undefined, {})).status;
    let isGone = false;
    return {
      ...started,
      probe,
      isGone: () => isGone,
      drain: () => started.drain().then(() => void (isGone = true)),
      /** Answers what the probe saw; the drain has looked at the clock since. */
      async second() {
        const seen = await probe();
        at += 1_000;
        await systemClock.sleep(120);
        return seen;
      },
    };
  }

  test('fails health first, refuses new turns, finishes running ones, and exits only when daprd has withdrawn the types', async () => {
    const { ask, gate, drain, fake, engine, probe, second, isGone } = await startHeld({ limits: { nudgesAtWork: 1 } });
    const [before] = await sql`select count(*)::int as n from actor_hosts`;
    const running = ask('PUT', put('a', 'hold'), { name: 'one' });
    await gate.has('one');
    await ask('PUT', put('a', 'remind/poke'), {}); // taken, and waits behind the turn
    expect(await probe()).toBe(200);
    const drained = drain();
    expect(await probe()).toBe(503);
    expect(JSON.parse((await ask('PUT', put('b', 'nothing'), {})).text)).toMatchObject({
      code: 'draining',
      retryAfterMs: 1_000,
    });
    expect(JSON.parse((await ask('PUT', put('b', 'remind/poke'), {})).text)).toMatchObject({ code: 'draining' });
    gate.open('one');
    expect((await running).text).toBe('"one"');
    await settles(() => expect(fake.registered).toHaveLength(1)); // the nudge that had no turn is set again
    for (const passed of [1, 2, 3]) expect([passed, await second(), isGone()]).toEqual([passed, 503, false]);
    await second(); // daprd has withdrawn the types, and nobody asked since
    await drained;
    await expect(probe()).rejects.toThrow();
    expect(await sql`select count(*)::int as n from actor_hosts`).toEqual([{ n: before!['n'] - 1 }]);
    expect(engine.heartbeatAgeMs()).toBe(Infinity);
  });

  test('gives back a message whose handler waits, once daprd knows: it withdraws nothing before', async () => {
    const { ask, drain, engine, fake, second } = await startHeld();
    engine.bus.subscribe('topic', () => new Promise(() => {}));
    let answered: string | undefined;
    const asked = ask('POST', '/events/topic', { data: { n: 1 } }).then(({ text }) => (answered = text));
    await second();
    const drained = drain();
    for (const passed of [1, 2, 3]) expect([passed, await second(), answered]).toEqual([passed, 503, undefined]);
    await second();
    await asked;
    await drained;
    expect(answered).toBe('{"status":"SUCCESS"}');
    const published = fake.asked.filter(({ path }) => path === '/v1.0/publish/bulk/bus/topic');
    expect(published.map(({ body }) => JSON.parse(body))).toMatchObject([[{ event: { n: 1 } }]]);
  });

  test('waits while requests still arrive', async () => {
    const { ask, drain, second, isGone } = await startHeld();
    await second();
    const drained = drain();
    for (let passed = 1; passed <= 8; passed++) {
      await ask('PUT', put('b', 'nothing'), {});
      expect([passed, await second(), isGone()]).toEqual([passed, 503, false]);
    }
    await second();
    await drained;
  });

  test('is refused under a probe that would cut turns, with the flags to change', async () => {
    expect(() => checkProbe({ intervalMs: 1_000, threshold: 3 }, 2_000)).not.toThrow();
    expect(() => checkProbe({ intervalMs: 1_000, threshold: 2 }, 2_000)).toThrow(/--app-health-threshold/);
    await expect(start({ options: { probe: { intervalMs: 500, threshold: 3 } } })).rejects.toThrow(
      /A turn may last 2000 ms/,
    );
  });
});
