import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { askHost } from '../../support/wire/fake-sidecar.ts';
import { openThingHosts, put, HOST_TOKEN } from '../../support/processes/thing-host.ts';

const hosts = await openThingHosts();
const { start } = hosts;
afterEach(() => hosts.end());
afterAll(() => hosts.close());

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
    expect(await ask('PUT', put('a', 'count'), {})).toMatchObject({
      status: 200,
      text: '1',
      headers: { 'x-answer-bytes': '1' }, // so that callers know it from an answer that daprd makes up
    });
    const nothing = await ask('PUT', put('a', 'nothing'), {});
    expect(nothing).toMatchObject({ status: 200, text: '', headers: { 'x-answer-bytes': '0' } });
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
    const { status, text } = await askHost(port, 'PUT', put('a', 'nothing'), { headers: HOST_TOKEN, body: '{"a":' });
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
    const headers = { ...HOST_TOKEN, 'x-command-id': 'one' };
    const answers = [
      await ask('PUT', put('a', 'count'), {}, headers),
      await ask('PUT', put('a', 'count'), {}, headers),
      await ask('PUT', put('a', 'count'), {}, { ...HOST_TOKEN, 'x-command-id': 'two' }),
    ];
    expect(answers.map(({ text }) => text)).toEqual(['1', '1', '2']);
  });
});

describe('a call without the token of our processes', () => {
  const STRANGERS = [
    { 'dapr-api-token': 'app-secret' },
    { ...HOST_TOKEN, 'x-actor-caller': '' },
    { ...HOST_TOKEN, 'x-actor-caller': 'caller-secreT' },
    { 'dapr-api-token': 'app-secret', 'x-command-id': 'one' },
  ];
  const [STRANGER] = STRANGERS;

  test('reaches no method that its contract does not open, and does not learn which there are', async () => {
    const { ask, host } = await start();
    for (const headers of STRANGERS)
      for (const name of ['count', 'hold', 'fail', 'nope', 'constructor']) {
        const answer = await ask('PUT', put('a', name), [{ name: 'x' }], headers);
        expect([name, answer.status, answer.headers['x-daprerrorresponseheader']]).toEqual([name, 403, undefined]);
        expect(JSON.parse(answer.text)).toEqual({
          code: 'forbidden',
          message: `Thing.${name} is not open to other applications`,
        });
      }
    expect(host.counters.turns).toBe(0);
    expect((await ask('PUT', put('a', 'count'), {})).text).toBe('1');
  });

  test('has its one argument taken out of the list in which it comes, or out of nothing', async () => {
    const { ask } = await start();
    expect(await ask('PUT', put('a', 'ask'), [{ what: 'said' }], STRANGER)).toMatchObject({
      status: 200,
      text: '"said as nobody"',
    });
    expect((await ask('PUT', put('a', 'ask'), { what: 'said' }, STRANGER)).text).toBe('"said as nobody"');
    for (const body of [[{}], [], null, {}, undefined])
      expect(await ask('PUT', put('a', 'nothing'), body, STRANGER)).toMatchObject({ status: 200, text: '' });
    expect((await ask('PUT', put('a', 'ask'), [{ what: 'said' }])).headers['x-daprerrorresponseheader']).toBe('true');
  });

  test('says no more than is open to it', async () => {
    const { ask, host } = await start();
    for (const body of [[{ what: 'said', as: 'ann' }], [{ what: 'other' }], [{ what: 'said' }, {}], ['said']]) {
      const answer = await ask('PUT', put('a', 'ask'), body, STRANGER);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        400,
        expect.objectContaining({ errors: expect.any(Array) }),
      ]);
    }
    expect(host.counters.turns).toBe(0);
    expect((await ask('PUT', put('a', 'ask'), { what: 'other', as: 'ann' })).text).toBe('"other as ann"');
  });

  test('fails where the turn fails, by the status of the error and without the words of a fault', async () => {
    const { ask, port } = await start();
    const business = await ask('PUT', put('a', 'ask'), [{ what: 'business' }], STRANGER);
    expect([business.status, JSON.parse(business.text)]).toEqual([
      402,
      { code: 'plan_required', message: 'Not on this plan' },
    ]);
    const fault = await ask('PUT', put('a', 'ask'), [{ what: 'unknown' }], STRANGER);
    expect([fault.status, fault.text]).toEqual([500, expect.not.stringContaining('secret detail')]);
    const odd = await askHost(port, 'PUT', put('a', 'ask'), { headers: STRANGER!, body: '[{' });
    expect([odd.status, JSON.parse(odd.text)]).toEqual([400, expect.objectContaining({ code: 'invalid_json' })]);
    const missing = await ask('PUT', '/actors/Other/a/method/ask', [{}], STRANGER);
    expect([missing.status, JSON.parse(missing.text)]).toEqual([400, expect.objectContaining({ code: 'not_found' })]); // daprd drops the body of a 404
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
