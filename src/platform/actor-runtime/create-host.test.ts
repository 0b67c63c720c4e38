import { describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { gate } from '../../../test/support/wire/eventually.ts';
import { settles } from '../../../test/support/wire/settles.ts';
import { AppError, busy, systemClock } from '../kernel/index.ts';
import { actorContract, type Actors, method, nudge, reminder } from './contract.ts';
import { actorsOf } from './callers.ts';
import { createHost } from './create-host.ts';
import { type Engine } from './engine.ts';
import { Fenced, type HostLimits, type HostPorts } from './host.ts';
import { implementFor, type Turn } from './implement.ts';

const contract = actorContract('Thing', {
  methods: {
    run: method({ input: z.strictObject({ step: z.string() }), output: z.unknown() }),
    many: method({ input: z.strictObject({ n: z.number() }), output: z.number(), batched: { max: 3 } }),
  },
  reminders: { ring: reminder, poke: nudge },
});
type Here = Turn<typeof contract, { n: number }, { built: number }, Needs>;
interface Needs {
  steps: Record<string, (turn: Here, data?: unknown) => unknown>;
}
let built = 0;
const thing = implementFor<Needs, { built: number }>()(contract, {
  state: z.object({ n: z.number().default(0) }),
  memory: async () => ({ built: ++built }),
  methods: {
    run: async ({ step }, turn) => turn.ctx.steps[step]?.(turn),
    many: async (inputs, turn) =>
      ((await turn.ctx.steps['many']?.(turn, inputs)) as never) ?? inputs.map(({ n }) => n * 2),
  },
  reminders: {
    ring: async (turn, data) => void (await turn.ctx.steps['ring']?.(turn, data)),
    poke: async (turn, data) => void (await turn.ctx.steps['poke']?.(turn, data)),
  },
});

/** A clock whose sleeps are over at once. */
const atOnce: typeof systemClock = { ...systemClock, sleep: async () => {} };

/** A host whose engine is a Map. */
function hosting(
  steps: Needs['steps'],
  limits: Partial<HostLimits> = {},
  more: Partial<HostPorts> = {},
  clock = systemClock,
) {
  const docs = new Map<string, unknown>();
  const logged: string[] = [];
  const note = (_detail: object, message: string) => void logged.push(message);
  const engine = { name: 'embedded', invoke: (to, name, input) => host.call(to, name, input) } as Engine;
  const actors: Actors = actorsOf(engine);
  const host = createHost({
    implementations: [thing],
    needs: { steps },
    actors,
    clock,
    log: { debug() {}, info: note, warn: note, error: note },
    limits,
  });
  host.attach({
    remind: async () => {},
    forget: async () => {},
    loadState: async ({ id }) => docs.get(id),
    saveState: async ({ id }, doc) => void docs.set(id, doc),
    ...more,
  });
  return { host, actors, docs, logged, call: (step: string, id = 'a') => actors(contract, id).run({ step }) };
}
const at = (id: string) => ({ type: 'Thing', id });

describe('createHost', () => {
  test('createHost answers `unavailable` before an engine is attached', async () => {
    const host = createHost({
      implementations: [thing],
      needs: {},
      actors: (() => ({})) as unknown as Actors,
      clock: systemClock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    });
    await expect(host.call(at('a'), 'run', { step: 'x' })).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('a turn that loses the database fails with `unavailable`, alone and in a batch; any other fault is `internal` without its cause', async () => {
    const lost = (code: string) => () => {
      throw Object.assign(new Error('secret'), { code });
    };
    const { call, host } = hosting({ away: lost('57P01'), broken: lost('42P01'), many: lost('ECONNREFUSED') });
    await expect(call('away')).rejects.toMatchObject({ code: 'unavailable', extra: { retryAfterMs: 2_000 } });
    await expect(call('broken')).rejects.toMatchObject({ code: 'internal' });
    await expect(host.call(at('a'), 'many', [{ n: 1 }, { n: 2 }])).resolves.toEqual(
      Array.from({ length: 2 }, () => ({
        ok: false,
        error: expect.objectContaining({ code: 'unavailable', message: expect.not.stringContaining('secret') }),
      })),
    );
  });

  test('a fenced turn fails with `draining`, and the actor is built anew', async () => {
    let fenced = true;
    const { call, host } = hosting(
      { write: (turn) => void (turn.state.n += 1), built: ({ memory }) => memory.built },
      {},
      {
        saveState: async () => {
          if (fenced) throw new Fenced('another host holds it');
        },
      },
    );
    const first = await call('built');
    await expect(call('write')).rejects.toMatchObject({ code: 'draining' });
    expect(host.activations()).toEqual({ Thing: 0 });
    fenced = false;
    await call('write');
    expect(await call('built')).toBe(Number(first) + 1);
  });

  test('a document that no longer fits its schema starts anew, with a warning', async () => {
    const { call, docs, logged } = hosting({ read: ({ state }) => state.n });
    docs.set('a', { n: 'seven' });
    expect(await call('read')).toBe(0);
    expect(logged).toEqual(['a stored state document does not fit its schema; the actor starts anew']);
  });

  test('an activation that fails fails its turn only', async () => {
    let broken = true;
    const { call } = hosting(
      { fine: () => 'fine' },
      {},
      {
        async loadState() {
          if (broken) throw new Error('no database');
          return undefined;
        },
      },
    );
    await expect(call('fine')).rejects.toMatchObject({ code: 'internal' });
    broken = false;
    expect(await call('fine')).toBe('fine');
  });

  test('a busy or draining batch fails as a whole, so that the engine can repeat it', async () => {
    const { host } = hosting({
      many: () => {
        throw busy(50);
      },
    });
    await expect(host.call(at('a'), 'many', [{ n: 1 }])).rejects.toMatchObject({ code: 'busy' });
  });

  test('an answer for one input of a batch may be an unknown error: `internal` for its caller alone', async () => {
    const { host, logged } = hosting({ many: () => [new Error('secret'), 4] });
    expect(await host.call(at('a'), 'many', [{ n: 1 }, { n: 2 }])).toEqual([
      { ok: false, error: { code: 'internal', message: expect.not.stringContaining('secret') } },
      { ok: true, value: 4 },
    ]);
    expect(logged).toEqual(['an input of a batch failed']);
  });

  test('waiting nudges are dealt round robin over owners, each actor once', async () => {
    const order: string[] = [];
    const { passed, open } = gate();
    const { host } = hosting(
      {
        poke: async (turn, data) => {
          order.push(`${turn.id} ${String(data)}`);
          await passed;
        },
      },
      { nudgesAtWork: 1 },
    );
    const poke = (id: string, owner: string, data: string) => host.fire(at(id), 'poke', data, owner);
    await poke('begins', 'flood', '');
    for (const id of ['f1', 'f2', 'f3']) await poke(id, 'flood', 'old');
    await poke('s1', 'small', '');
    await poke('f2', 'flood', 'new'); // waits already: no second turn, the newer data
    open();
    await settles(() => expect(order).toHaveLength(5));
    expect(order).toEqual(['begins ', 'f1 old', 's1 ', 'f2 new', 'f3 old']);
    expect(host.counters.nudges).toBe(6);
  });

  test('nudges beyond the bound are refused with `busy`; a drain hands back those without a turn', async () => {
    const { passed, open } = gate();
    const { host } = hosting({ poke: () => passed }, { nudgesAtWork: 1, nudgesWaiting: 2 });
    for (const id of ['a', 'b', 'c']) await host.fire(at(id), 'poke', id, 'o');
    await expect(host.fire(at('d'), 'poke', undefined)).rejects.toMatchObject({ code: 'busy' });
    expect(host.refuse()).toEqual([
      { to: at('b'), name: 'poke', data: 'b', owner: 'o' },
      { to: at('c'), name: 'poke', data: 'c', owner: 'o' },
    ]);
    open();
    expect(await host.settle()).toEqual({ turns: 0, background: 0 });
  });

  test('a nudge whose turn loses the database gets a second turn, and no third', async () => {
    const turns: string[] = [];
    const fail = (turn: Here, code: string) => {
      turns.push(turn.id);
      throw Object.assign(new Error('failed'), { code });
    };
    const { host } = hosting(
      { poke: (turn) => fail(turn, turn.id === 'lost' ? 'CONNECTION_CLOSED' : '22P02') },
      { nudgesAtWork: 1 },
      {},
      atOnce,
    );
    for (const id of ['lost', 'wrong', 'lost']) await host.fire(at(id), 'poke', undefined);
    await settles(() => expect(turns).toHaveLength(5));
    expect(turns).toEqual(['lost', 'lost', 'wrong', 'lost', 'lost']);
  });

  test('a nudge that waits for a running turn of its actor is handed back too', async () => {
    const { passed, open } = gate();
    const { host, call } = hosting({ long: () => passed, poke: () => {} });
    const long = call('long');
    await host.fire(at('a'), 'poke', 1);
    expect(host.refuse()).toEqual([{ to: at('a'), name: 'poke', data: 1, owner: undefined }]);
    open();
    await long;
  });

  test('a drain refuses waiting calls, and gives up on turns that never end', async () => {
    const { host, call } = hosting(
      { hang: () => new Promise(() => {}), leave: (turn) => turn.beside(() => new Promise(() => {})) },
      { turnMs: 20, backgroundMs: 40 },
    );
    void call('hang');
    await call('leave', 'b');
    const waiting = call('later');
    host.refuse();
    await expect(waiting).rejects.toMatchObject({ code: 'draining' });
    await expect(host.fire(at('b'), 'ring', undefined)).rejects.toMatchObject({ code: 'draining' });
    expect(await host.settle()).toEqual({ turns: 1, background: 1 });
  });

  test('a turn that lasts too long is logged once while it runs and once at its end', async () => {
    const { passed, open } = gate();
    const { call, logged } = hosting({ slow: () => passed }, { turnMs: 30 });
    const slow = call('slow');
    await settles(() => expect(logged).toEqual(['a turn lasts too long; calls of its actor wait']));
    open();
    await slow;
    expect(logged).toEqual(['a turn lasts too long; calls of its actor wait', 'a slow turn ended']);
  });

  test('a repeated command waits for the first; one that never ran is tried again; old ones are deleted', async () => {
    let runs = 0;
    const { host } = hosting(
      {
        once: async () => {
          await sleep(5);
          return ++runs;
        },
        busy: () => {
          runs += 1;
          throw new AppError('busy', 'later');
        },
      },
      { commandMs: 40 },
    );
    const send = (step: string, command: string) => host.call(at('a'), 'run', { step }, command);
    expect(await Promise.all([send('once', '1'), send('once', '1')])).toEqual([1, 1]);
    expect(host.counters.repeatedCommands).toBe(1);
    await sleep(60);
    expect(await send('once', '1')).toBe(2);
    await expect(send('busy', '2')).rejects.toMatchObject({ code: 'busy' });
    await expect(send('busy', '2')).rejects.toMatchObject({ code: 'busy' });
    expect(runs).toBe(4);
  });

  test('an unknown reminder fails, so that a later host that knows it can run it', async () => {
    const { host } = hosting({});
    await expect(host.fire(at('a'), 'constructor', undefined)).rejects.toMatchObject({ code: 'not_found' });
    await expect(host.fire({ type: 'Other', id: 'a' }, 'ring', undefined)).rejects.toMatchObject({ code: 'not_found' });
    expect(host.isNudge('Thing', 'poke')).toBe(true);
    expect(host.isNudge('Thing', 'ring')).toBe(false);
    expect(host.isNudge('Thing', 'toString')).toBe(false);
  });

  test('work that a handler starts after the end of its turn runs all the same', async () => {
    let late = false;
    const { call } = hosting({
      loose: (turn) => void setTimeout(() => turn.beside(async () => void (late = true)), 10),
    });
    await call('loose');
    await settles(() => expect(late).toBe(true));
  });
});
