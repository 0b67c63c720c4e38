import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { actorsOf, createHost, holdDatabase, placement } from '../../../src/platform/actor-runtime/index.ts';
import { openEmbeddedEngine } from '../../../src/platform/actor-runtime/embedded/index.ts';
import { startHeartbeat } from '../../../src/platform/actor-runtime/hosts.ts';
import { type Database, openDatabase } from '../../../src/platform/db/index.ts';
import { newId, StartError, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { takeDatabaseAway } from '../../support/processes/embedded-harness.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { startHostProcess } from '../../support/processes/scripts/host-process.ts';
import { createLedger, ledgerActor, readLedger } from '../../support/worlds/ledger-actor.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

const RETRY_MS = 100;
const soon = (ms: number) => systemClock.in(ms);
const at = (id: string) => ({ type: 'Ledger', id });

describe('the embedded engine in its own process', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  const start = () => startHostProcess({ databaseUrl: database.url, retryMs: RETRY_MS });
  const lines = async (actor: string) =>
    (await readLedger(database.sql)).filter((line) => line.actor === actor).map(({ text }) => text);

  beforeAll(async () => {
    database = await testDatabase();
    await createLedger(database.sql);
  }, 60_000);
  afterAll(async () => database?.[Symbol.asyncDispose]());

  test('a restart after `kill -9` is immediate and loses no pending reminder', async () => {
    const total = 500;
    // the process is killed while these fire; the others come due when it is gone, however slow it was
    const early = total / 2;
    {
      await using host = await start();
      const dueOf = (n: number) => soon(n < early ? 600 + n * 10 : 3_600_000);
      const reminders = Array.from({ length: total }, (_, n) => ({
        ...at(`r${n}`),
        name: n % 2 ? 'ring' : 'poke',
        due: dueOf(n),
        data: n,
      }));
      await host.remind(reminders);
      await eventually('some have fired', async () => (await readLedger(database.sql)).length > 50);
      host.signal('SIGKILL');
      await host.exited;
    }
    await database.sql`update actor_reminders set due_at = now() where due_at > now() + interval '30 minutes'`;
    const fired = new Set((await readLedger(database.sql)).map(({ actor }) => actor));
    expect(fired.size).toBeLessThan(total);
    await using again = await start();
    await eventually('every default reminder has fired', async () => {
      const actors = new Set((await readLedger(database.sql)).map(({ actor }) => actor));
      return Array.from({ length: total }, (_, n) => n).every((n) => n % 2 === 0 || actors.has(`r${n}`));
    });
    expect(await again.invoke(at('alive'), 'note', { text: 'x' })).toBe(again.incarnation);
    await eventually(
      'nothing waits any more',
      async () => (await database.sql`select from actor_reminders`).length === 0,
    );
  }, 60_000);

  test('a document survives `kill -9`', async () => {
    {
      await using host = await start();
      for (let n = 1; n <= 3; n++) expect(await host.invoke(at('counter'), 'count', {})).toBe(n);
      host.signal('SIGKILL');
      await host.exited;
    }
    await using again = await start();
    expect(await again.invoke(at('counter'), 'count', {})).toBe(4);
  }, 60_000);

  test('SIGTERM finishes turns and background work, then the process exits', async () => {
    await using host = await start();
    await host.invoke(at('worker'), 'work', { ms: 600 });
    const long = host.invoke(at('holder'), 'hold', { ms: 500 });
    await eventually('the turn runs', async () => (await lines('holder')).includes('begin'));
    host.signal('SIGTERM');
    expect(await long).toBe(host.incarnation);
    expect(await host.exited).toBe(0);
    expect(await lines('holder')).toEqual(['begin', 'end']);
    expect(await lines('worker')).toEqual(['worked']);
    expect((await placement(database.sql)).some(({ incarnation }) => incarnation === host.incarnation)).toBe(false);
  }, 60_000);

  test('a second process on the same database is refused on either engine, and the embedded one names Dapr', async () => {
    await using host = await start();
    await expect(start()).rejects.toThrow(/Dapr/);
    await eventually('the first one goes on with heartbeats', async () => (await host.heartbeatAgeMs()) < 1_500);
    const sql = openDatabase({ url: database.url, connections: 2 });
    const refused = holdDatabase({ sql, mode: 'shared', clock: systemClock, log: quietLog() });
    await expect(refused).rejects.toThrow(/embedded engine/);
    await expect(refused).rejects.toBeInstanceOf(StartError); // printed without a stack
    await sql.end();
  }, 60_000);

  test('the server watches the session of the lock, also one that was made anew', async () => {
    const sql = openDatabase({ url: database.url, connections: 2 });
    const states: string[] = [];
    await using hold = await holdDatabase({
      sql,
      mode: 'shared',
      clock: systemClock,
      log: quietLog(),
      onChange: (state) => void states.push(state),
    });
    const watched = () => hold.session<{ pid: number; idle: string; every: string; times: string; unheard: string }[]>`
      select pg_backend_pid() as pid, current_setting('tcp_keepalives_idle') as idle,
        current_setting('tcp_keepalives_interval') as every, current_setting('tcp_keepalives_count') as times,
        current_setting('tcp_user_timeout') as unheard`;
    const expected = { idle: '10', every: '5', times: '3', unheard: '25000' };
    const [{ pid, ...first } = { pid: 0 }] = await watched();
    expect(first).toEqual(expected);
    await database.sql`select pg_terminate_backend(${pid})`;
    await eventually('the lock is taken again', () => states.at(-1) === 'held' && states.includes('lost'));
    const [{ pid: next, ...second } = { pid: 0 }] = await watched();
    expect(second).toEqual(expected);
    expect(next).not.toBe(pid);
    await sql.end({ timeout: 1 });
  });

  /** An engine in this process, and how another session gets its database, as another process would. */
  async function openTakeable() {
    const [sql, other] = [4, 1].map((connections) => openDatabase({ url: database.url, connections })) as [
      Database,
      Database,
    ];
    const log = quietLog();
    const incarnation = newId();
    const engine = await openEmbeddedEngine({ sql, clock: systemClock, log, address: 'here', incarnation });
    const actors = actorsOf(engine);
    const needs = { sql, incarnation };
    await using opened = new AsyncDisposableStack();
    opened.defer(() => Promise.all([sql, other].map((pool) => pool.end({ timeout: 1 }))).then(() => undefined));
    opened.use(engine);
    opened.use(
      await engine.host(createHost({ implementations: [ledgerActor], needs, actors, clock: systemClock, log })),
    );
    const locks = () => database.sql<{ pid: number; key: string; granted: boolean }[]>`
      select pid, objid::bigint::text as key, granted
      from pg_locks
      where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`;
    const end = opened.move();
    return {
      engine,
      async take(): Promise<void> {
        const [own] = await locks();
        const taken = other`select pg_advisory_lock(${own!.key}::bigint)`.execute();
        await eventually('it waits for the lock', async () => (await locks()).some(({ granted }) => !granted));
        await database.sql`select pg_terminate_backend(${own!.pid})`;
        await taken;
        await eventually('the engine knows of it', () => engine.isAway?.() === true);
      },
      giveBack: () => other.end(),
      [Symbol.asyncDispose]: () => end.disposeAsync(),
    };
  }

  test('an engine whose database another process has says that no actor can be reached, until that one ends', async () => {
    await using takeable = await openTakeable();
    const { engine } = takeable;
    expect(engine.isAway?.()).toBe(false);
    await takeable.take();
    await expect(engine.invoke(at('any'), 'note', { text: 'x' })).rejects.toMatchObject({ code: 'unavailable' });
    await takeable.giveBack();
    await eventually('it has its database again', () => engine.isAway?.() === false);
  }, 60_000);

  test('a reminder that another process fired while it had the database is not fired again', async () => {
    await using takeable = await openTakeable();
    const due = soon(8_000);
    await takeable.engine.remind(['elsewhere', 'left'].map((id) => ({ ...at(id), name: 'ring', due })));
    await takeable.take();
    await database.sql`delete from actor_reminders where id = 'elsewhere'`;
    await eventually('both are due', () => systemClock.now() > due);
    await takeable.giveBack();
    await eventually('the other one fires', async () => (await lines('left')).length > 0);
    expect(await lines('elsewhere')).toEqual([]);
  }, 60_000);

  test('the embedded engine is refused while a process on Dapr works; several on Dapr share the database', async () => {
    const sql = openDatabase({ url: database.url, connections: 2 });
    {
      await using first = await holdDatabase({ sql, mode: 'shared', clock: systemClock, log: quietLog() });
      await using second = await holdDatabase({ sql, mode: 'shared', clock: systemClock, log: quietLog() });
      await expect(start()).rejects.toThrow(/Dapr/);
      expect([first.state(), second.state()]).toEqual(['held', 'held']);
    }
    await using host = await start();
    await eventually('it sends heartbeats', async () => (await host.heartbeatAgeMs()) < 1_500);
    await sql.end();
  }, 60_000);

  test('a process takes its database lock again after an outage of the database', async () => {
    await using host = await start();
    await takeDatabaseAway(database.url, 800);
    await eventually('the heartbeat goes on', async () => (await host.heartbeatAgeMs()) < 1_500);
    await eventually('a second one is refused again', () =>
      start().then(
        async (other) => (await other[Symbol.asyncDispose](), false),
        (error: unknown) => /Dapr/.test(String(error)),
      ),
    );
    expect(await host.invoke(at('after'), 'note', { text: 'x' })).toBe(host.incarnation);
  }, 60_000);

  test('a host without heartbeats for minutes is removed from the list', async () => {
    for (const [incarnation, minutes] of [
      ['gone', 20],
      ['silent', 1],
    ] as const)
      await database.sql`
        insert into actor_hosts (incarnation, engine, address, types, active, mailboxes, last_heartbeat)
        values (${incarnation}, 'dapr', 'a', '{}', '{}', '{}', now() - ${minutes}::int * interval '1 minute')`;
    const listed = (await placement(database.sql)).map(({ incarnation }) => incarnation);
    await database.sql`delete from actor_hosts where incarnation in ('gone', 'silent')`;
    expect(listed).toContain('silent');
    expect(listed).not.toContain('gone');
  });

  test.each([
    [3_600_000, 1],
    [-3_600_000, 1],
    [0, 0],
  ])(
    'a clock difference of %d ms to the database is logged %d times',
    async (ms, expected) => {
      const said: [object, string][] = [];
      const log = { ...quietLog(), warn: (detail: object, message: string) => void said.push([detail, message]) };
      const host = { types: new Set<string>(), activations: () => ({}), mailboxes: () => ({}) };
      const clock = { ...systemClock, now: () => new Date(Date.now() + ms) };
      {
        const options = {
          sql: database.sql,
          clock,
          log,
          incarnation: `differs${ms}`,
          engine: 'dapr',
          address: 'a',
          host,
        };
        await using heartbeat = await startHeartbeat(options as unknown as Parameters<typeof startHeartbeat>[0]);
        const first = heartbeat.steadySince();
        await eventually(
          'it sends heartbeats again',
          async () => systemClock.monotonic() - heartbeat.heartbeatAgeMs() > first,
        );
      }
      expect(said).toHaveLength(expected);
      if (expected)
        expect(said[0]).toMatchObject([{ aheadMs: expect.any(Number) }, expect.stringMatching(/clock.*database/)]);
      if (expected) expect(Math.sign((said[0]![0] as { aheadMs: number }).aheadMs)).toBe(Math.sign(ms));
    },
    60_000,
  );

  test('the age of the heartbeat grows while the database cannot be reached', async () => {
    await using host = await start();
    await database.sql.begin(async (transaction) => {
      await transaction`lock table actor_hosts in exclusive mode`;
      await eventually('the heartbeat is old', async () => (await host.heartbeatAgeMs()) > 2_000);
    });
    await eventually('it is young again', async () => (await host.heartbeatAgeMs()) < 1_500);
  }, 60_000);
});
