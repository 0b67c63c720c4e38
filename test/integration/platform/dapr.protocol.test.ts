import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { freePorts } from '../../support/wire/ports.ts';
import {
  checkProbe,
  type DaprEngine,
  type DaprEngineOptions,
  openDaprEngine,
} from '../../../src/platform/actor-runtime/dapr/index.ts';
import { openSidecar } from '../../../src/platform/actor-runtime/dapr/sidecar.ts';
import {
  actorContract,
  actorsOf,
  createHost,
  Fenced,
  type Host,
  type HostLimits,
  implementFor,
  method,
  nudge,
  reminder,
} from '../../../src/platform/actor-runtime/index.ts';
import { AppError, newId, notFound, systemClock } from '../../../src/platform/kernel/index.ts';
import { testLog } from '../../support/processes/dapr-engine.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { gate as opensOnce } from '../../support/wire/eventually.ts';
import { type Answerer, askHost, fieldsOf, startFakeSidecar } from '../../support/wire/fake-sidecar.ts';

import { quietLog } from '../../support/worlds/quiet-log.ts';
import { settles } from '../../support/wire/settles.ts';

const TOKEN = { 'dapr-api-token': 'app-secret' };
const thing = actorContract('Thing', {
  methods: {
    hold: method({ input: z.strictObject({ name: z.string() }), output: z.string() }),
    fail: method({ input: z.strictObject({ how: z.enum(['business', 'unknown']) }) }),
    count: method({ input: z.strictObject({ fail: z.boolean().optional() }), output: z.int() }),
    nothing: method({ input: z.strictObject({}) }),
    plan: method({ input: z.strictObject({ name: z.string(), due: z.coerce.date() }) }),
  },
  reminders: { ring: reminder, poke: nudge },
});

/** Turns of `hold` wait until the test lets them end; `log` shows what overlapped. */
class Gate {
  readonly log: string[] = [];
  readonly held = new Map<string, () => void>();
  async pass(name: string): Promise<void> {
    this.log.push(`begin ${name}`);
    await new Promise<void>((done) => void this.held.set(name, done));
    this.log.push(`end ${name}`);
  }
  async has(name: string): Promise<void> {
    while (!this.held.has(name)) await systemClock.sleep(5);
  }
  open(name: string): void {
    this.held.get(name)!();
  }
}

const implementation = implementFor<{ gate: Gate; fired: unknown[] }>()(thing, {
  state: z.object({ n: z.int().default(0) }),
  methods: {
    async hold({ name }, { ctx }) {
      await ctx.gate.pass(name);
      return name;
    },
    async fail({ how }) {
      throw how === 'business'
        ? new AppError('plan_required', 'Not on this plan', { feature: 'x' })
        : new Error('secret detail');
    },
    async count({ fail }, turn) {
      turn.state.n += 1;
      if (fail) throw notFound('nothing there');
      return turn.state.n;
    },
    async nothing() {},
    plan: async ({ name, due }, { remind }) => remind(name as 'ring', due, { owner: 'org', data: { hint: 'ü' } }),
  },
  reminders: {
    async ring({ id, ctx }, data) {
      ctx.fired.push([id, data]);
      if (id === 'bad') throw new Error('no');
      if (id === 'slow') await ctx.gate.pass('ring');
    },
    poke: async ({ id, ctx }, data) => {
      ctx.fired.push([id, data]);
    },
  },
});

const database = await testDatabase();
afterAll(async () => database[Symbol.asyncDispose]());

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).toReversed()) await clean();
});

async function start({
  answer,
  limits,
  options = {},
  hosting = true,
}: { answer?: Answerer; limits?: Partial<HostLimits>; options?: Partial<DaprEngineOptions>; hosting?: boolean } = {}) {
  const fake = await startFakeSidecar(answer);
  cleanUp.push(() => fake[Symbol.asyncDispose]());
  const [port] = (await freePorts(1)) as [number];
  const engine: DaprEngine = await openDaprEngine({
    httpPort: fake.httpPort,
    grpcPort: fake.grpcPort,
    appPort: port,
    apiToken: 'api-secret',
    appToken: 'app-secret',
    clock: systemClock,
    log: testLog,
    sql: database.sql,
    incarnation: newId(),
    types: ['Thing'],
    repeatMs: 400,
    ...options,
  });
  const gate = new Gate();
  const fired: unknown[] = [];
  const host: Host = createHost({
    implementations: [implementation],
    needs: { gate, fired },
    actors: actorsOf(engine),
    clock: systemClock,
    log: testLog,
    ...(limits && { limits }),
  });
  const running = hosting ? await engine.host(host) : undefined;
  let drained: Promise<void> | undefined;
  const drain = () => (drained ??= Promise.resolve(running?.[Symbol.asyncDispose]()));
  cleanUp.push(() => engine.close(), drain);
  const ask = (verb: string, path: string, body?: unknown, headers: Record<string, string> = TOKEN) =>
    askHost(port, verb, path, {
      headers,
      ...(body !== undefined && verb.startsWith('P') && { body: JSON.stringify(body) }),
    });
  return { fake, engine, port, gate, fired, host, drain, ask, actors: actorsOf(engine) };
}
const put = (id: string, name: string) => `/actors/Thing/${id}/method/${name}`;

describe('HTTP server of a host for daprd', () => {
  test('answers its configuration with types and timings on the first connection', async () => {
    const { ask } = await start();
    const { status, text } = await ask('GET', '/dapr/config');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      entities: ['Thing'],
      actorIdleTimeout: '3600000ms',
      drainOngoingCallTimeout: '3000ms',
      drainRebalancedActors: true,
      reentrancy: { enabled: false },
    });
  });

  test('answers health without a token, and everything else without the right token with 401', async () => {
    const { ask } = await start();
    expect(await ask('GET', '/healthz', undefined, {})).toMatchObject({ status: 200, text: '' });
    for (const headers of [
      {},
      { 'dapr-api-token': '' },
      { 'dapr-api-token': 'app-secreT' },
      { 'dapr-api-token': 'app-secret-and-more' },
    ])
      for (const [verb, path] of [
        ['GET', '/dapr/config'],
        ['GET', '/dapr/subscribe'],
        ['PUT', put('a', 'nothing')],
        ['DELETE', '/actors/Thing/a'],
        ['POST', '/events/x'],
        ['GET', '/'],
      ] as const)
        expect((await ask(verb, path, {}, headers)).status).toBe(401);
  });

  test('answers a result with exactly 200 and its body, and nothing with an empty body', async () => {
    const { ask } = await start();
    expect(await ask('PUT', put('a', 'count'), {})).toMatchObject({ status: 200, text: '1' });
    const nothing = await ask('PUT', put('a', 'nothing'), {});
    expect(nothing).toMatchObject({ status: 200, text: '' });
    expect(nothing.headers['x-daprerrorresponseheader']).toBeUndefined();
  });

  test.each([
    [
      'a business error',
      put('a', 'fail'),
      { how: 'business' },
      { code: 'plan_required', message: 'Not on this plan', feature: 'x' },
    ],
    [
      'any other error, without its message',
      put('a', 'fail'),
      { how: 'unknown' },
      { code: 'internal', message: 'Something went wrong on our side' },
    ],
    [
      'an input that breaks the contract',
      put('a', 'hold'),
      { name: 1 },
      expect.objectContaining({ code: 'validation_failed', errors: [expect.objectContaining({ field: 'name' })] }),
    ],
    ['an unknown method', put('a', 'nope'), {}, expect.objectContaining({ code: 'not_found' })],
    ['an unknown type', '/actors/Other/a/method/nothing', {}, expect.objectContaining({ code: 'not_found' })],
    ['a reminder that nobody declared', put('a', 'remind/other'), {}, expect.objectContaining({ code: 'not_found' })],
  ])('answers %s with 200 and the error header', async (_what, path, body, expected) => {
    const { ask } = await start();
    const { status, headers, text } = await ask('PUT', path, body);
    expect(status).toBe(200);
    expect(headers['x-daprerrorresponseheader']).toBe('true');
    expect(JSON.parse(text)).toEqual(expected);
  });

  test('refuses a body that is not JSON', async () => {
    const { port } = await start();
    const { status, text } = await askHost(port, 'PUT', put('a', 'nothing'), { headers: TOKEN, body: '{"a":' });
    expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ code: 'invalid_json' })]);
  });

  test('answers 404 to timers, unknown routes and foreign paths', async () => {
    const { ask } = await start();
    for (const [verb, path] of [
      ['PUT', put('a', 'timer/x')],
      ['PUT', put('a', 'timer')],
      ['PUT', put('a', 'remind')],
      ['PUT', put('a', 'nothing/more')],
      ['PUT', put('_zz', 'nothing')],
      ['GET', put('a', 'nothing')],
      ['POST', put('a', 'nothing')],
      ['PUT', '/actors/Thing/a'],
      ['GET', '/'],
      ['POST', '/dapr/config'],
      ['PUT', `${put('a', 'remind/x')}/y`],
    ] as const)
      expect([path, (await ask(verb, path, {})).status]).toEqual([path, 404]);
  });

  test('answers DELETE with 200 for an unknown, an active and a busy actor', async () => {
    const { ask, gate, host } = await start();
    expect((await ask('DELETE', '/actors/Thing/never')).status).toBe(200);
    expect((await ask('DELETE', '/actors/Other/never')).status).toBe(200);
    await ask('PUT', put('a', 'nothing'), {});
    expect(host.activations()).toEqual({ Thing: 1 });
    expect((await ask('DELETE', '/actors/Thing/a')).status).toBe(200);
    expect(host.activations()).toEqual({ Thing: 0 });
    const held = ask('PUT', put('b', 'hold'), { name: 'one' });
    await gate.has('one');
    expect((await ask('DELETE', '/actors/Thing/b')).status).toBe(200);
    gate.open('one');
    expect((await held).text).toBe('"one"');
  });

  test('passes the data of a reminder as daprd sends it, and none for a forged one', async () => {
    const { ask, fired } = await start();
    const data = Buffer.from(JSON.stringify({ data: { hint: 'ü' }, owner: 'org' })).toString('base64');
    for (const body of [
      { data, dueTime: '', period: '' },
      { data: 'not base64 of ours' },
      { data: { a: 1 } },
      null,
      undefined,
    ])
      await ask('PUT', put('a', 'remind/ring'), body);
    expect(fired).toEqual([
      ['a', { hint: 'ü' }],
      ['a', undefined],
      ['a', undefined],
      ['a', undefined],
      ['a', undefined],
    ]);
  });

  test('answers a reminder whose turn fails with the error header so that it is repeated, and a nudge at once', async () => {
    const { ask, gate, fired } = await start();
    expect((await ask('PUT', put('bad', 'remind/ring'), {})).headers['x-daprerrorresponseheader']).toBe('true');
    const busy = ask('PUT', put('n', 'hold'), { name: 'one' });
    await gate.has('one');
    const answer = await ask('PUT', put('n', 'remind/poke'), {});
    expect([answer.status, answer.headers['x-daprerrorresponseheader'], fired.length]).toEqual([200, undefined, 1]);
    gate.open('one');
    await busy;
  });

  test('answers nudges beyond the bound with an error so that daprd repeats them', async () => {
    const { ask, gate } = await start({ limits: { nudgesAtWork: 1, nudgesWaiting: 1 } });
    const busy = ask('PUT', put('n', 'hold'), { name: 'one' });
    await gate.has('one');
    await ask('PUT', put('n', 'remind/poke'), {});
    await ask('PUT', put('m', 'remind/poke'), {});
    const third = await ask('PUT', put('o', 'remind/poke'), {});
    expect(JSON.parse(third.text)).toMatchObject({ code: 'busy' });
    gate.open('one');
    await busy;
  });

  test('runs a repeated command once', async () => {
    const { ask } = await start();
    const headers = { ...TOKEN, 'x-command-id': 'one' };
    const answers = [
      await ask('PUT', put('a', 'count'), {}, headers),
      await ask('PUT', put('a', 'count'), {}, headers),
      await ask('PUT', put('a', 'count'), {}, { ...TOKEN, 'x-command-id': 'two' }),
    ];
    expect(answers.map(({ text }) => text)).toEqual(['1', '1', '2']);
  });
});

describe('turns of a host', () => {
  test('calls, reminders and deactivation of one actor never overlap; those of two actors do', async () => {
    const { ask, gate } = await start();
    const first = ask('PUT', put('slow', 'hold'), { name: 'one' });
    await gate.has('one');
    const others = [
      ask('PUT', put('slow', 'hold'), { name: 'two' }),
      ask('PUT', put('slow', 'remind/ring'), {}),
      ask('DELETE', '/actors/Thing/slow'),
    ];
    const elsewhere = ask('PUT', put('b', 'hold'), { name: 'elsewhere' });
    await gate.has('elsewhere');
    expect(gate.log).toEqual(['begin one', 'begin elsewhere']);
    gate.open('elsewhere');
    gate.open('one');
    await Promise.all([
      gate.has('two').then(() => gate.open('two')),
      gate.has('ring').then(() => gate.open('ring')),
      first,
      elsewhere,
    ]);
    await Promise.all(others);
    const mine = gate.log.filter((line) => !line.includes('elsewhere'));
    for (let n = 0; n < mine.length; n += 2)
      expect([mine[n]!.split(' ')[0], mine[n + 1]]).toEqual(['begin', mine[n]!.replace('begin', 'end')]);
    expect(mine).toHaveLength(6);
  });

  test('a socket that closes during a turn does not stop it, and the next turn waits for its end', async () => {
    const { ask, gate } = await start();
    const cut = ask('PUT', put('a', 'hold'), { name: 'one' });
    await gate.has('one');
    cut.leave();
    await expect(cut).rejects.toThrow();
    const next = ask('PUT', put('a', 'hold'), { name: 'two' });
    await systemClock.sleep(50);
    expect(gate.log).toEqual(['begin one']);
    gate.open('one');
    await gate.has('two');
    gate.open('two');
    expect((await next).text).toBe('"two"');
    expect(gate.log).toEqual(['begin one', 'end one', 'begin two', 'end two']);
  });
});

describe('client of a process for its sidecar', () => {
  const call = { type: 'Thing', id: 'a' };
  const draining = {
    status: 200,
    headers: { 'X-Daprerrorresponseheader': 'true' },
    body: JSON.stringify({ code: 'draining', message: 'later' }),
  };

  test('sends token and command id with a call, and escapes names', async () => {
    const { engine, fake } = await start({ hosting: false, answer: () => ({ body: '{"n":1}' }) });
    expect(await engine.invoke({ type: 'Thing', id: 'ü/%?#..' }, 'hold', { name: 'x' })).toEqual({ n: 1 });
    const [asked] = fake.asked;
    expect(asked).toMatchObject({
      method: 'POST',
      path: '/v1.0/actors/Thing/_c3_bc_2f_25_3f_23_2e_2e/method/hold',
      body: '{"name":"x"}',
    });
    expect(asked!.headers).toMatchObject({
      'dapr-api-token': 'api-secret',
      'x-command-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test('throws a typed error as the same error', async () => {
    const { engine } = await start({
      hosting: false,
      answer: () => ({
        ...draining,
        body: JSON.stringify({ code: 'limit_exceeded', message: 'No', limit: 'posts', max: 3 }),
      }),
    });
    await expect(engine.invoke(call, 'hold', {})).rejects.toMatchObject({
      code: 'limit_exceeded',
      message: 'No',
      extra: { limit: 'posts', max: 3 },
    });
  });

  test.each([
    ['garbage', 'surprise'],
    ['an unknown code', '{"code":"surprise","message":"x"}'],
  ])('throws %s under the error header as internal, without its content', async (_what, body) => {
    const { engine } = await start({ hosting: false, answer: () => ({ ...draining, body }) });
    await expect(engine.invoke(call, 'hold', {})).rejects.toMatchObject({
      code: 'internal',
      message: expect.not.stringContaining('surprise'),
    });
  });

  test('repeats a call that failed on the way with the same command id', async () => {
    const replies: ReturnType<Answerer>[] = [
      draining,
      { status: 500, body: '{"errorCode":"ERR_ACTOR_INVOKE_METHOD","message":"context canceled"}' },
      'cut',
      { status: 500, body: 'no json' },
      { body: '7' },
    ];
    const { engine, fake } = await start({
      hosting: false,
      answer: () => replies.shift(),
      options: { repeatMs: 20_000 },
    });
    expect(await engine.invoke(call, 'count', {})).toBe(7);
    expect(new Set(fake.asked.map(({ headers }) => headers['x-command-id'])).size).toBe(1);
    expect(fake.asked).toHaveLength(5);
  });

  test('throws busy when the actor is not reached in time', async () => {
    const { engine, fake } = await start({
      hosting: false,
      answer: () => ({ status: 500, body: '{"errorCode":"ERR_ACTOR_NO_ADDRESS","message":"x"}' }),
    });
    await expect(engine.invoke(call, 'count', {})).rejects.toMatchObject({
      code: 'busy',
      extra: { retryAfterMs: expect.any(Number) },
    });
    expect(fake.asked.length).toBeGreaterThan(1);
  });

  test('waits for a host that drains for longer than failures are repeated', async () => {
    const replies: ReturnType<Answerer>[] = [...Array.from({ length: 8 }, () => draining), { body: '7' }];
    const { engine, fake } = await start({
      hosting: false,
      answer: () => replies.shift(),
      options: { repeatMs: 1_500 },
    });
    expect(await engine.invoke(call, 'count', {})).toBe(7); // eight pauses are more than that
    expect(fake.asked).toHaveLength(9);
  });

  test('throws busy and sends no more when a host that drains has no successor', async () => {
    const log = quietLog();
    const { engine } = await start({ hosting: false, answer: () => draining, options: { patienceMs: 300, log } });
    await expect(engine.invoke(call, 'count', {})).rejects.toMatchObject({ code: 'busy' });
    await settles(() => expect(log.lines).toMatchObject([{ message: 'actor could not be reached' }]));
  });

  test('abandons a request that is never answered while its actor moves, and sends the next with the same command id', async () => {
    const replies: ReturnType<Answerer>[] = [draining, undefined];
    const { engine, fake } = await start({
      hosting: false,
      answer: () => (replies.length > 0 ? replies.shift() : { body: '7' }),
    });
    expect(await engine.invoke(call, 'count', {})).toBe(7);
    expect(fake.asked.length).toBeGreaterThanOrEqual(3); // more where this machine was slow to answer
    expect(fake.asked.filter(({ cut }) => cut)).toEqual([]);
    expect(new Set(fake.asked.map(({ headers }) => headers['x-command-id'])).size).toBe(1);
    fake.asked[1]!.response.writeHead(200).end('"late"');
  });

  test('does not repeat a call after a wrong token', async () => {
    const { engine, fake } = await start({ hosting: false, answer: () => ({ status: 401, body: '{}' }) });
    await expect(engine.invoke(call, 'count', {})).rejects.toMatchObject({ code: 'internal' });
    expect(fake.asked).toHaveLength(1);
  });

  test('refuses an unknown type and reserved method names before anything is sent', async () => {
    const { engine, fake } = await start({ hosting: false });
    for (const [to, name] of [
      [{ type: 'Nobody', id: 'a' }, 'x'],
      [call, 'remind'],
      [call, 'timer'],
    ] as const)
      await expect(engine.invoke(to, name, {})).rejects.toMatchObject({ code: 'not_found' });
    expect(fake.asked).toEqual([]);
  });

  test('throws busy after the longest wait without aborting the request, and ignores its late answer', async () => {
    let later = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later };
    const { engine, fake } = await start({
      hosting: false,
      answer: () => undefined,
      options: { patienceMs: 30_000, clock },
    });
    const first = engine.invoke(call, 'hold', { name: 'x' });
    await settles(() => expect(fake.asked).toHaveLength(1));
    later = 30_000;
    await expect(first).rejects.toMatchObject({ code: 'busy' });
    await systemClock.sleep(100);
    expect(fake.asked[0]!.cut).toBe(false);
    fake.asked[0]!.response.writeHead(200).end('"late"');
    fake.state.answer = () => ({ body: '"next"' });
    expect(await engine.invoke(call, 'hold', { name: 'y' })).toBe('next');
  });

  test('keeps at most 64 calls under way, the others wait', async () => {
    const full = opensOnce();
    const { engine, fake } = await start({
      hosting: false,
      async answer() {
        if (fake.state.underWay === 64) setTimeout(full.open, 50); // one more would come meanwhile
        await full.passed;
        return { body: '1' };
      },
    });
    await Promise.all(Array.from({ length: 300 }, (_, n) => engine.invoke({ type: 'Thing', id: `${n}` }, 'count', {})));
    expect([fake.asked.length, fake.state.mostUnderWay]).toEqual([300, 64]);
  });

  test('throws busy at once beyond the bound of waiting calls', async () => {
    const fake = await startFakeSidecar(() => undefined);
    const sidecar = openSidecar({ port: fake.httpPort, token: undefined, connections: 1, waiting: 1 });
    cleanUp.push(
      () => fake[Symbol.asyncDispose](),
      () => sidecar.close(),
    );
    const waiting = [1, 2].map(() => sidecar.ask('x', { method: 'GET', path: '/' }).catch(() => {}));
    await expect(sidecar.ask('x', { method: 'GET', path: '/' })).rejects.toMatchObject({ code: 'busy' });
    await sidecar.close();
    await Promise.all(waiting);
  });
});

describe('reminders of the Dapr engine', () => {
  const due = new Date('2030-01-02T03:04:05.678Z');

  test('are sent over gRPC with data, due time and a constant policy without a number of retries', async () => {
    const { engine, fake } = await start();
    await engine.remind([{ type: 'Thing', id: 'ä', name: 'ring/1', due, data: { a: 1 }, owner: 'org' }]);
    const fields = fieldsOf(fake.registered[0]!);
    const text = (n: number) => String(fields.get(n)?.[0]);
    expect([text(1), text(2), text(3), text(4)]).toEqual(['Thing', '_c3_a4', 'ring_2f1', '2030-01-02T03:04:05.678Z']);
    expect(JSON.parse(text(6))).toEqual({ data: { a: 1 }, owner: 'org' });
    expect(fields.get(8)).toEqual([1]);
    const policy = fieldsOf(fields.get(9)![0] as Buffer);
    expect([...policy.keys()]).toEqual([2]);
    const constant = fieldsOf(policy.get(2)![0] as Buffer);
    expect([...constant.keys()]).toEqual([1]);
    expect(fieldsOf(constant.get(1)![0] as Buffer).get(1)).toEqual([5]);
    expect([...fields.keys()].toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 6, 8, 9]);
  });

  test('are sent in a turn as outside of it', async () => {
    const { ask, fake } = await start();
    await ask('PUT', put('a', 'plan'), { name: 'ring', due });
    expect(JSON.parse(String(fieldsOf(fake.registered[0]!).get(6)![0]))).toEqual({ data: { hint: 'ü' }, owner: 'org' });
  });

  test('are refused with the remedy in a process that does not host their type', async () => {
    const { engine, fake } = await start({ hosting: false });
    await expect(engine.remind([{ type: 'Thing', id: 'a', name: 'ring', due }])).rejects.toThrow(
      /process that hosts it: call a method/,
    );
    expect(fake.registered).toEqual([]);
  });

  test('are repeated at growing intervals while the scheduler is away, and then refused as unavailable', async () => {
    const pauses: number[] = [];
    const clock = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => (pauses.push(ms), systemClock.sleep(ms / 10, signal)),
    };
    const patient = await start({ options: { repeatMs: 60_000, clock } });
    patient.fake.state.grpc = { code: 14, details: 'no scheduler' };
    pauses.length = 0;
    const reminded = patient.engine.remind([{ type: 'Thing', id: 'a', name: 'ring', due }]);
    await settles(() => expect(patient.fake.registered.length).toBeGreaterThan(6));
    patient.fake.state.grpc = { code: 0, details: '' };
    await reminded;
    expect(pauses.filter((ms) => ms < 1_000)).toEqual([100, 200, 400, 800]); // and 1,000, as the heartbeat has

    const { engine, fake } = await start();
    fake.state.grpc = { code: 14, details: 'no scheduler' };
    await expect(engine.remind([{ type: 'Thing', id: 'a', name: 'ring', due }])).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  test('never reject when registered after a commit', async () => {
    const { engine, fake } = await start();
    fake.state.grpc = { code: 3, details: 'bad' };
    const after = await engine.remindWithin(database.sql, [{ type: 'Thing', id: 'a', name: 'ring', due }]);
    expect(fake.registered).toHaveLength(0);
    expect(after()).toBeUndefined();
    while (fake.registered.length === 0) await systemClock.sleep(5);
  });

  test('are refused under a name that an engine cannot hold', async () => {
    const { engine } = await start();
    await expect(engine.remind([{ type: 'Thing', id: '', name: 'ring', due }])).rejects.toMatchObject({
      code: 'validation_failed',
    });
    await expect(engine.forget({ type: 'Thing', id: 'a' }, '\ud800')).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });
});

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
    const [before] = await database.sql`select count(*)::int as n from actor_hosts`;
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
    expect(await database.sql`select count(*)::int as n from actor_hosts`).toEqual([{ n: before!['n'] - 1 }]);
    expect(engine.heartbeatAgeMs()).toBe(Infinity);
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

describe('the bus on Dapr', () => {
  test('publishes in bulk, and a refusing sidecar is no error for the publisher', async () => {
    const { engine, fake } = await start({ hosting: false });
    await engine.bus.publish(
      'post.published',
      Array.from({ length: 201 }, (_, n) => ({ n })),
    );
    expect(fake.asked.map(({ path }) => path)).toEqual([
      '/v1.0/publish/bulk/bus/post.published',
      '/v1.0/publish/bulk/bus/post.published',
    ]);
    expect(JSON.parse(fake.asked[1]!.body)).toEqual([
      { entryId: '0', event: { n: 200 }, contentType: 'application/json' },
    ]);
    fake.state.answer = () => ({ status: 500 });
    await engine.bus.publish('x', [1]);
    fake.state.answer = () => 'cut';
    await engine.bus.publish('x', [1]);
  });

  test('declares its topics with a dead letter, and answers SUCCESS, RETRY or DROP', async () => {
    const fake = await startFakeSidecar();
    const [port] = (await freePorts(1)) as [number];
    const engine = await openDaprEngine({
      httpPort: fake.httpPort,
      grpcPort: fake.grpcPort,
      appPort: port,
      apiToken: undefined,
      appToken: undefined,
      clock: systemClock,
      log: testLog,
      sql: database.sql,
      incarnation: newId(),
      types: [],
    });
    const seen: unknown[] = [];
    engine.bus.subscribe('news', async (message) => {
      seen.push(message);
      if (message === 'bad') throw new AppError('validation_failed', 'cannot be read');
      if (message === 'later') throw new Error('not now');
    });
    const host = createHost({
      implementations: [],
      needs: {},
      actors: actorsOf(engine),
      clock: systemClock,
      log: testLog,
    });
    const hosting = await engine.host(host);
    cleanUp.push(
      () => fake[Symbol.asyncDispose](),
      () => engine.close(),
      () => Promise.resolve(hosting[Symbol.asyncDispose]()),
    );
    expect(JSON.parse((await askHost(port, 'GET', '/dapr/subscribe')).text)).toEqual([
      { pubsubname: 'bus', topic: 'news', route: '/events/news', deadLetterTopic: 'dead' },
      { pubsubname: 'bus', topic: 'dead', route: '/events/dead' },
    ]);
    const deliver = async (topic: string, body: string) =>
      JSON.parse((await askHost(port, 'POST', `/events/${topic}`, { body })).text).status as string;
    expect(await deliver('news', '{"data":"good"}')).toBe('SUCCESS');
    expect(await deliver('news', '{"data":"later"}')).toBe('RETRY');
    expect(await deliver('news', '{"data":"bad"}')).toBe('DROP');
    expect(await deliver('news', 'no event')).toBe('DROP');
    expect(await deliver('unknown', '{"data":1}')).toBe('DROP');
    expect(await deliver('dead', '{"data":1}')).toBe('SUCCESS');
    expect(seen).toEqual(['good', 'later', 'bad']);
  });
});

describe('the database of Dapr hosts', () => {
  let first: DaprEngine;
  beforeAll(async () => {
    first = await openDaprEngine({
      httpPort: 1,
      grpcPort: 1,
      appPort: 1,
      apiToken: undefined,
      appToken: undefined,
      clock: systemClock,
      log: testLog,
      sql: database.sql,
      incarnation: newId(),
      types: [],
    });
  });
  afterAll(() => first.close());
  test('is shared by processes on Dapr', async () => {
    const { host } = await start();
    expect(host.types).toEqual(['Thing']);
    expect(await database.sql`select engine, address, types from actor_hosts`).toEqual([
      { engine: 'dapr', address: expect.stringMatching(/^127\.0\.0\.1:/), types: ['Thing'] },
    ]);
  });
});
