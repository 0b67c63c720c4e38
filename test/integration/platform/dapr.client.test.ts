import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { freePorts } from '../../support/wire/ports.ts';
import { type DaprEngine, openDaprEngine } from '../../../src/platform/actor-runtime/dapr/index.ts';
import { openSidecar } from '../../../src/platform/actor-runtime/dapr/sidecar.ts';
import { actorsOf, createHost } from '../../../src/platform/actor-runtime/index.ts';
import { AppError, newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { testLog } from '../../support/processes/dapr-engine.ts';
import { gate as opensOnce } from '../../support/wire/eventually.ts';
import { type Answerer, askHost, fieldsOf, startFakeSidecar } from '../../support/wire/fake-sidecar.ts';

import { quietLog } from '../../support/worlds/quiet-log.ts';
import { settles } from '../../support/wire/settles.ts';
import { openThingHosts, put } from '../../support/processes/thing-host.ts';

const hosts = await openThingHosts();
const { start, sql, cleanUp } = hosts;
afterEach(() => hosts.end());
afterAll(() => hosts.close());

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
      'x-actor-caller': 'caller-secret',
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

  test.each<[string, ReturnType<Answerer>]>([
    ['nothing, and the call reached no host', { isByDaprd: true }],
    ['a part of what the host has said', { body: '', headers: { 'X-Answer-Bytes': '4' } }],
    ['a part of an error', { ...draining, body: '{"code":', headers: { ...draining.headers, 'X-Answer-Bytes': '43' } }],
  ])('repeats a call with the same command id where daprd answers 200 with %s', async (_what, reply) => {
    const replies: ReturnType<Answerer>[] = [reply, { body: '7' }];
    const { engine, fake } = await start({ hosting: false, answer: () => replies.shift() });
    expect(await engine.invoke(call, 'count', {})).toBe(7);
    expect(new Set(fake.asked.map(({ headers }) => headers['x-command-id'])).size).toBe(1);
    expect(fake.asked).toHaveLength(2);
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

describe('a sidecar that accepts and never answers', () => {
  test.each([
    ['at all', () => undefined],
    ['to the end', ({ response }: Parameters<Answerer>[0]) => void response.writeHead(200).write('{')],
  ])('%s holds its connection for as long as an answer may take, and its caller is told', async (_what, answer) => {
    const fake = await startFakeSidecar(answer);
    const sidecar = openSidecar({ port: fake.httpPort, token: undefined, connections: 1, answerMs: 300 });
    cleanUp.push(
      () => fake[Symbol.asyncDispose](),
      () => sidecar.close(),
    );
    const first = sidecar.ask('x', { method: 'GET', path: '/' });
    const second = sidecar.ask('x', { method: 'GET', path: '/' });
    await expect(first).rejects.toMatchObject({ code: 'unavailable', extra: { retryAfterMs: expect.any(Number) } });
    fake.state.answer = () => ({ body: '1' });
    await Promise.allSettled([second]); // it may have been sent before
    expect(await sidecar.ask('x', { method: 'GET', path: '/' })).toMatchObject({ status: 200, text: '1' });
    await settles(() => expect(fake.asked[0]!.cut).toBe(true));
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
    const after = await engine.remindWithin(sql, [{ type: 'Thing', id: 'a', name: 'ring', due }]);
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
      callerToken: 'caller-secret',
      clock: systemClock,
      log: testLog,
      sql,
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
      callerToken: 'caller-secret',
      clock: systemClock,
      log: testLog,
      sql,
      incarnation: newId(),
      types: [],
    });
  });
  afterAll(() => first.close());
  test('is shared by processes on Dapr', async () => {
    const { host } = await start();
    expect(host.types).toEqual(['Thing']);
    expect(await sql`select engine, address, types from actor_hosts`).toEqual([
      { engine: 'dapr', address: expect.stringMatching(/^127\.0\.0\.1:/), types: ['Thing'] },
    ]);
  });
});
