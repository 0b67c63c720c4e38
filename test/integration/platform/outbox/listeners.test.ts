// oxlint-disable max-lines -- one database serves all cases
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openEmbeddedBus } from '../../../../src/platform/actor-runtime/embedded/bus.ts';
import { type Database, openDatabase, openLease, type Sql } from '../../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import {
  append,
  type Fact,
  type Listener,
  listener,
  type NewFact,
  startListeners,
} from '../../../../src/platform/outbox/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { quietLog } from '../../../support/worlds/quiet-log.ts';
import { settles } from '../../../support/wire/settles.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let sql: Database;
let statements: string[] = [];
const running: AsyncDisposable[] = [];
const orgId = newId();
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  sql = openDatabase({ url: db.url, connections: 4, onStatement: (text) => void statements.push(text) });
  await sql`
    create table heard (listener text, id bigint, reason text, place bigint generated always as identity,
      primary key (listener, id))`;
});
afterAll(async () => {
  await sql.end();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await sql`truncate heard, outbox, outbox_cursors, outbox_refused, leases`;
  statements = [];
});
afterEach(async () => {
  for (const one of running.splice(0)) await one[Symbol.asyncDispose]();
});

/** Facts numbered in `reason`. */
const facts = (count: number, first = 0) =>
  Array.from({ length: count }, (_, n): NewFact => ({
    orgId,
    topic: 'channel.refresh_needed',
    entityId: newId(),
    payload: { providerId: 'x', name: 'Acme', reason: String(first + n) },
  }));
const otherFacts = (count: number) =>
  Array.from({ length: count }, (): NewFact => ({
    orgId,
    topic: 'channel.disabled',
    entityId: newId(),
    payload: { providerId: 'x', name: 'Acme', reason: 'plan' },
  }));
type Refreshes = readonly Fact<'channel.refresh_needed'>[];

/** A table of what was heard, whose key refuses a fact that is heard twice. */
const write = (tx: Sql, name: string, heard: Refreshes) =>
  tx`
    insert into heard (listener, id, reason)
    select ${name}, *
    from unnest(${heard.map(({ id }) => id)}::bigint[], ${heard.map(({ payload }) => payload.reason)}::text[])`;
const listenerTo = (name: string, before: (tx: Sql, heard: Refreshes) => unknown = () => {}): Listener =>
  listener({
    name,
    topics: ['channel.refresh_needed'],
    async hear(tx, heard, wake) {
      await before(tx, heard);
      await write(tx, name, heard);
      wake('heard', [name]);
    },
  });
const first = listenerTo('first');
const second = listenerTo('second');

function start(holder: string, more: Partial<Parameters<typeof startListeners>[0]> = {}) {
  const bus = openEmbeddedBus({ clock: systemClock, log: quietLog() });
  const wakeUps: unknown[] = [];
  bus.subscribe('heard', async (message) => void wakeUps.push(message));
  const hearing = startListeners({
    sql,
    clock: systemClock,
    bus,
    listeners: [first, second],
    holder,
    log: quietLog(),
    lookMs: 20,
    ...more,
  });
  running.push(hearing);
  return { hearing, wakeUps };
}
/** A look passes what a transaction that still runs may be behind, also one of another database of the cluster. */
const appended = async (all: readonly NewFact[]) => {
  await append(sql, all);
  await settles(async () => {
    const [row] = await db.sql`select bool_and(txid < pg_snapshot_xmin(pg_current_snapshot())) as seen from outbox`;
    expect(row!['seen']).toBe(true);
  });
};
const reasonsOf = async (name = 'first') =>
  (await db.sql`select reason from heard where listener = ${name} order by place`).map((row) => Number(row['reason']));
const hears = (count: number, name = 'first') => settles(async () => expect(await reasonsOf(name)).toHaveLength(count));
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const outbox = async () => (await db.sql`select count(*)::int as n from outbox`)[0]!['n'] as number;
const refused = () =>
  db.sql`select listener, payload ->> 'reason' as reason, error from outbox_refused order by listener, id`;

describe('outbox listeners', () => {
  test('hear each fact once and in order, and wake once per batch; facts that all have heard are deleted', async () => {
    await append(sql, facts(1_200));
    const { wakeUps } = start('a');
    await hears(1_200);
    await hears(1_200, 'second');
    expect([await reasonsOf('first'), await reasonsOf('second')]).toEqual([upTo(1_200), upTo(1_200)]);
    await settles(async () => expect(await outbox()).toBe(0));
    await settles(() => expect(wakeUps).toHaveLength(6));
    expect(wakeUps).toContainEqual({ keys: ['first'] });
  });

  test('need five statements for a batch, and one for a scan that finds nothing', async () => {
    await appended(facts(500));
    start('none', { listeners: [] }); // so that the pool is warm
    statements = [];
    const { hearing } = start('a', { listeners: [first], lookMs: 60_000 });
    await hears(500);
    await settles(() => expect(statements.length).toBeGreaterThanOrEqual(7));
    // the cursor, once for the process; look, begin, move, hear, commit; the look that deletes and finds nothing
    expect(
      statements.map(
        (text) => /outbox_cursors \(|from lease|begin|update outbox_cursors|into heard|commit/.exec(text)?.[0],
      ),
    ).toEqual([
      'outbox_cursors (',
      'from lease',
      'begin',
      'update outbox_cursors',
      'into heard',
      'commit',
      'from lease',
    ]);
    hearing.wake();
    await settles(() => expect(statements.length).toBe(8));
  });

  test('skip facts that do not match their condition, with two statements per batch', async () => {
    const mine = newId();
    const choosy = { ...first, where: (tx: Sql) => tx`o.entity_id <> ${mine}` };
    const passedOver = facts(500).map((fact) => ({ ...fact, entityId: mine }));
    await appended([...passedOver, ...facts(2, 500), ...passedOver.slice(0, 3)]);
    start('none', { listeners: [] }); // so that the pool is warm
    statements = [];
    start('a', { listeners: [choosy], lookMs: 60_000 });
    await settles(async () => expect(await outbox()).toBe(0));
    expect(await reasonsOf()).toEqual([500, 501]);
    // once for the process; a look and a move for the first 500; a look and a transaction of four for the rest; a look
    expect(statements).toHaveLength(9);
  });

  test('continue after a batch that is exactly full', async () => {
    await appended(facts(500));
    const { hearing } = start('a', { listeners: [first], lookMs: 60_000 });
    await hears(500);
    await appended(facts(3, 500));
    hearing.wake();
    await hears(503);
    expect(await reasonsOf()).toEqual(upTo(503));
  });

  test('hear every fact by their scan while the bus is away', async () => {
    const { hearing } = start('a', { bus: { publish: () => Promise.reject(new Error('away')) } });
    await append(sql, facts(2));
    hearing.wake();
    await hears(2);
    await settles(async () => expect(await outbox()).toBe(0));
  });

  test('hear their topics only, and keep no fact of another topic', async () => {
    start('a', { listeners: [first] });
    await append(sql, [...otherFacts(3), ...facts(2), ...otherFacts(600)]);
    await hears(2);
    await settles(async () => expect(await outbox()).toBe(0));
    expect(await reasonsOf()).toEqual([0, 1]);
    expect(await refused()).toEqual([]);
  });

  test('pass over what a newer release says of a fact', async () => {
    await append(sql, facts(1));
    await sql`update outbox set payload = payload || '{"since": "the next release"}'`;
    start('a', { listeners: [first] });
    await hears(1);
    expect(await refused()).toEqual([]);
  });

  test('added later hear the facts still stored, and the others continue at their cursors', async () => {
    const stuck = listenerTo('stuck', () => Promise.reject(Object.assign(new Error('down'), { code: '57P01' })));
    const before = start('a', { listeners: [first, stuck] });
    await append(sql, facts(2));
    await hears(2);
    await before.hearing[Symbol.asyncDispose]();
    start('a', { listeners: [first, second, listenerTo('stuck')] });
    await Promise.all([hears(2, 'second'), hears(2, 'stuck')]);
    await settles(async () => expect(await outbox()).toBe(0));
    expect(await reasonsOf('first')).toEqual([0, 1]);
  });
});

describe('outbox listeners of several processes', () => {
  test('one process listens at a time; another takes over when its lease is released or expires', async () => {
    const holder = async () => (await db.sql`select holder from leases where name = 'listener first'`)[0];
    const one = start('a', { listeners: [first], leaseSeconds: 60 });
    await settles(async () => expect(await holder()).toEqual({ holder: 'a' }));
    const other = start('b', { listeners: [first], leaseSeconds: 60 });
    await append(sql, facts(3));
    await hears(3);
    expect(await holder()).toEqual({ holder: 'a' });
    await one.hearing[Symbol.asyncDispose]();
    other.hearing.wake();
    await settles(async () => expect(await holder()).toEqual({ holder: 'b' }));
    await sql`update leases set holder = 'dead', expires_at = now() - interval '1 s'`;
    await append(sql, facts(3, 3));
    other.hearing.wake();
    await hears(6);
  });

  test('two processes that both believe to hold the lease hear each fact once', async () => {
    await append(sql, facts(900));
    start('same', { listeners: [first] });
    start('same', { listeners: [first] });
    await hears(900);
    await settles(async () => expect(await outbox()).toBe(0));
    // a fact twice would break the key of `heard` and be set aside
    expect([await reasonsOf(), await refused()]).toEqual([upTo(900), []]);
  });
});

describe('an outbox listener that fails', () => {
  test.each([
    ['division by zero', (tx: Sql) => tx`1 / (reason::int - 2)`],
    // SQLSTATE 54: more than the database can hold, however often it is tried
    ['requested length too large', (tx: Sql) => tx`repeat('x', case reason when '2' then 2000000000 else 1 end)`],
  ])('has facts set aside that are refused with %j, for itself alone; the others continue', async (error, made) => {
    const picky = listenerTo(
      'picky',
      (tx, heard) => tx`select ${made(tx)} from unnest(${heard.map(({ payload }) => payload.reason)}::text[]) reason`,
    );
    await append(sql, facts(4));
    start('a', { listeners: [picky, second] });
    await hears(3, 'picky');
    await hears(4, 'second');
    expect([await reasonsOf('picky'), await reasonsOf('second')]).toEqual([[0, 1, 3], upTo(4)]);
    expect(await refused()).toEqual([{ listener: 'picky', reason: '2', error: expect.stringContaining(error) }]);
    await settles(async () => expect(await outbox()).toBe(0));
    await append(sql, facts(1, 4));
    await hears(4, 'picky');
  });

  test('on every fact delays no other listener', async () => {
    const throwing = listenerTo('throwing', () => Promise.reject(new TypeError('not a function')));
    start('a', { listeners: [throwing, second] });
    await append(sql, facts(30));
    await hears(30, 'second');
    await settles(async () => expect(await refused()).toHaveLength(30));
    await settles(async () => expect(await outbox()).toBe(0));
    expect(await reasonsOf('throwing')).toEqual([]);
  });

  test('because its database is away keeps its facts, and delays no other listener', async () => {
    let away = true;
    const stuck = listenerTo('stuck', () =>
      away ? Promise.reject(Object.assign(new Error('shutting down'), { code: '57P01' })) : undefined,
    );
    const { hearing } = start('a', { listeners: [stuck, second] });
    await append(sql, facts(3));
    await hears(3, 'second');
    await append(sql, facts(2, 3));
    await hears(5, 'second');
    expect([await outbox(), await refused(), await reasonsOf('stuck')]).toEqual([5, [], []]);
    away = false;
    hearing.wake();
    await hears(5, 'stuck');
    await settles(async () => expect(await outbox()).toBe(0));
  });

  test('in the middle writes nothing, and never gets a payload that the catalog does not know', async () => {
    const halfWay = listener({
      name: 'first',
      topics: ['channel.refresh_needed'],
      async hear(tx, heard) {
        await write(tx, 'first', heard);
        if (heard.some(({ payload }) => payload.reason === '1')) throw new Error('half-way');
      },
    });
    await append(sql, facts(3));
    await sql`
      insert into outbox (org_id, topic, entity_id, payload)
      values (${orgId}, 'channel.refresh_needed', ${newId()}, '{"reason": "3", "more": 1}')`;
    start('a', { listeners: [halfWay] });
    await settles(async () => expect(await refused()).toHaveLength(2));
    expect([await reasonsOf(), (await refused()).map(({ reason }) => reason as string)]).toEqual([
      [0, 2],
      ['1', '3'],
    ]);
  });
});

describe('facts of transactions that commit out of order', () => {
  const transaction = async () => {
    const tx = await db.sql.reserve();
    await tx`begin`;
    return {
      tx,
      async ends() {
        await tx`commit`;
        tx.release();
      },
    };
  };
  /** Time for looks that are not to find anything. */
  const looks = async () => {
    const before = statements.length;
    await settles(() => expect(statements.length).toBeGreaterThan(before + 5));
  };

  test('a fact whose transaction commits long after later ones is heard before them', async () => {
    start('a', { listeners: [first] });
    const slow = await transaction();
    await append(slow.tx, facts(1));
    await append(sql, facts(3, 1));
    await looks();
    expect(await reasonsOf()).toEqual([]); // they wait for the slow one
    await slow.ends();
    await hears(4);
    expect(await reasonsOf()).toEqual(upTo(4));
  });

  test('a fact seen while earlier transactions with greater ids are heard is not skipped', async () => {
    const [earlier, later] = [await transaction(), await transaction()];
    await earlier.tx`
      insert into leases (name, holder, expires_at) values ('any write', 'a', now())`; // it has its number now
    await append(later.tx, facts(5, 1_100));
    await append(earlier.tx, facts(1_100));
    await earlier.ends();
    let ended: Promise<unknown> | undefined;
    // within the first of three batches
    start('a', { listeners: [listenerTo('first', () => (ended ??= later.ends()))] });
    await hears(1_105);
    expect(await reasonsOf()).toEqual(upTo(1_105));
  });

  test('a transaction that waits for the lock of a later one comes after it', async () => {
    start('a', { listeners: [first] });
    const [waiting, holding] = [await transaction(), await transaction()];
    await waiting.tx`
      insert into leases (name, holder, expires_at) values ('any write', 'a', now())`; // it has its number now
    await append(holding.tx, facts(1));
    await holding.ends();
    await append(waiting.tx, facts(1, 1));
    await waiting.ends();
    await hears(2);
    expect(await reasonsOf()).toEqual([0, 1]);
  });

  test('a read-only transaction, such as a backup, delays no fact', async () => {
    start('a', { listeners: [first] });
    const backup = await transaction();
    await backup.tx`set transaction isolation level repeatable read, read only`;
    await backup.tx`select from outbox`;
    await append(sql, facts(3));
    await hears(3);
    await backup.ends();
  });

  test('a transaction in another database of the server delays no fact, whatever it writes', async () => {
    await using other = await testDatabase({ connections: 1 });
    start('a', { listeners: [first] });
    const { promise: over, resolve: ends } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
    const theirs = other.sql.begin(async (tx) => {
      await tx`insert into leases (name, holder, expires_at) values ('any write', 'a', now())`;
      begins();
      await over;
    });
    await begun;
    await append(sql, facts(3));
    await hears(3);
    ends();
    await theirs;
  });
});

test('a scan does not read facts already heard while a backup holds a snapshot', async () => {
  await sql`alter table outbox set (autovacuum_enabled = off)`; // what it reads would be counted
  const backup = await db.sql.reserve();
  await backup`begin isolation level repeatable read`;
  await backup`select from outbox`;
  const own = openDatabase({
    url: db.url,
    connections: 1,
    onStatement: (text) => void (text.includes('from lease') && looked.push(text)),
  });
  const looked: string[] = [];
  try {
    const { hearing } = start('a', { sql: own, listeners: [first], lookMs: 600_000 });
    const look = async () => {
      const before = looked.length;
      hearing.wake();
      await settles(() => expect(looked.length).toBeGreaterThan(before));
      await own`select`; // the look is over: it has the only connection
    };
    const blocks = async () => {
      await own`select pg_stat_force_next_flush()`;
      const [row] = await own`
          select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as n
          from pg_statio_user_tables
          where relname = 'outbox'`;
      return row!['n'] as number;
    };
    const blocksOf = async (work: () => Promise<unknown>) => {
      const before = await blocks();
      await work();
      return (await blocks()) - before;
    };
    const costs = [];
    for (const more of [2_000, 20_000]) {
      await append(sql, facts(more));
      await settles(async () => {
        await look(); // a transaction of another database may stand before them
        expect(await outbox()).toBe(0);
      }, 30_000);
      await sql`analyze outbox`; // as the server else does by itself
      for (let n = 0; n < 7; n++) await look(); // the prepared statement has its plan
      const readAll = () => own`select count(*) from (select from outbox order by txid, id) every`;
      costs.push({ all: await blocksOf(readAll), look: await blocksOf(look) });
    }
    const [few, many] = costs;
    expect(many!.all).toBeGreaterThan(few!.all + 100); // the snapshot does hold the rows
    expect(many!.look).toBeLessThanOrEqual(few!.look + 2);
  } finally {
    await backup`commit`;
    backup.release();
    for (const one of running.splice(0)) await one[Symbol.asyncDispose]();
    await own.end();
  }
});

describe('the outbox of a database restored in another cluster', () => {
  test('numbers facts and cursors anew: no fact is lost or heard twice', async () => {
    await append(sql, facts(2));
    const { hearing } = start('a', { listeners: [first] });
    await hears(2);
    await hearing[Symbol.asyncDispose]();
    // as a dump brings it: numbers of a cluster that is far ahead, a fact that was heard and not deleted yet, and one
    // that was not heard
    await append(sql, facts(2, 2));
    await db.sql`insert into heard (listener, id, reason) select 'first', min(id), '2' from outbox`;
    await db.sql`
      update outbox
      set txid = case when id = (select min(id) from outbox) then '900000000000' else '900000000002' end::xid8`;
    await db.sql`update outbox_cursors set since = '900000000001', until = '900000000001', id = 0`;

    start('b', { listeners: [first] });
    await append(sql, facts(1, 4));
    await hears(5);
    expect([await reasonsOf(), await refused()]).toEqual([upTo(5), []]);
    await settles(async () => expect(await outbox()).toBe(0));
  });
});

test('a fresh lease is read, and neither written nor locked', async () => {
  const [a, b] = ['a', 'b'].map((holder) => openLease({ sql, name: 'work', holder, seconds: 600 }));
  expect([await a!.held(), await a!.held(), await b!.held()]).toEqual([true, true, false]);
  expect(
    (
      await sql`
    select xmax::text
    from leases`
    )[0],
  ).toEqual({ xmax: '0' }); // a lock would stand here, and in the log that each commit waits for
});

test('a lease has one holder, is renewed by asking, and follows the clock of the database', async () => {
  const [a, b] = ['a', 'b'].map((holder) => openLease({ sql, name: 'work', holder, seconds: 60 })) as [
    ReturnType<typeof openLease>,
    ReturnType<typeof openLease>,
  ];
  expect([await a.held(), await b.held(), await a.held()]).toEqual([true, false, true]);
  await sql`update leases set expires_at = now() + interval '10 s'`;
  expect(await a.held()).toBe(true); // prolonged in its second half
  expect((await sql`select expires_at > now() + interval '50 s' as long from leases`)[0]).toEqual({ long: true });
  await sql`update leases set expires_at = now()`;
  expect([await b.held(), await a.held()]).toEqual([true, false]);
  await a.release(); // no longer its own
  expect([await b.held(), await a.held()]).toEqual([true, false]);
  await b.release();
  expect(await a.held()).toBe(true);
  const many = Array.from({ length: 8 }, (_, n) => openLease({ sql, name: 'race', holder: `h${n}`, seconds: 60 }));
  expect((await Promise.all(many.map((one) => one.held()))).filter(Boolean)).toHaveLength(1);
});
