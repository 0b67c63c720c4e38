import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openEmbeddedBus } from '../../../src/platform/actor-runtime/embedded/bus.ts';
import { type Database, openDatabase, openLease } from '../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { append, type Consumer, type NewFact, OUTBOX_TOPIC, startRelay } from '../../../src/platform/outbox/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { settles } from '../../support/wire/settles.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let sql: Database;
let statements: string[] = [];
const orgId = newId();
beforeAll(async () => {
  db = await testDatabase();
  sql = openDatabase({ url: db.url, connections: 4, onStatement: (text) => void statements.push(text) });
  await sql`create table heard (id bigint primary key, topic text, payload jsonb, n bigint generated always as identity)`;
});
afterAll(async () => {
  await sql.end();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await sql`truncate heard, outbox, leases`;
  statements = [];
});

const hearing: Consumer = {
  name: 'hearing',
  topic: 'heard',
  write: (tx) => tx`hearing_written as (insert into heard (id, topic, payload) select id, topic, payload from gone order by id returning topic as wake)`,
};
const second: Consumer = { name: 'second', topic: 'second', write: (tx) => tx`second_written as (select 'k' as wake from gone)` };
/** Facts numbered in `reason`. */
const facts = (count: number) =>
  Array.from({ length: count }, (_, n): NewFact => ({
    orgId,
    topic: 'channel.refresh_needed',
    entityId: newId(),
    payload: { providerId: 'x', name: 'Acme', reason: String(n) },
  }));
const count = async () => Number((await sql`select count(*) as n from heard`)[0]!['n']);

function start(holder: string, more: Partial<Parameters<typeof startRelay>[0]> = {}) {
  const bus = openEmbeddedBus({ clock: systemClock, log: quietLog() });
  const told: [string, unknown][] = [];
  for (const topic of ['heard', 'second']) bus.subscribe(topic, async (message) => void told.push([topic, message]));
  const relay = startRelay({ sql, clock: systemClock, bus, consumers: [hearing, second], holder, log: quietLog(), sweepMs: 20, ...more });
  return { relay, bus, told };
}

test('rows go out once, in their order, with one wake-up for each consumer and batch', async () => {
  await append(sql, facts(1_200));
  const { relay, told } = start('a');
  await settles(async () => expect(await count()).toBe(1_200));
  expect(Number((await sql`select count(*) as n from outbox`)[0]!['n'])).toBe(0);
  const rows = await sql`select (payload ->> 'reason')::int as n from heard order by n, id`;
  expect(rows.map((row) => row['n'])).toEqual(Array.from({ length: 1_200 }, (_, n) => n));
  expect((await sql`select id from heard order by heard.n`).map((row) => row['id'])).toEqual(
    (await sql`select id from heard order by id`).map((row) => row['id']),
  );
  await settles(async () => expect(told).toHaveLength(6));
  expect(told[0]).toEqual(['heard', { keys: ['channel.refresh_needed'] }]);
  await relay[Symbol.asyncDispose]();
});

test('a batch costs two statements, an idle sweep one', async () => {
  await append(sql, facts(500));
  statements = [];
  const { relay } = start('a', { sweepMs: 60_000 });
  await settles(async () => expect((await db.sql`select count(*) as n from heard`)[0]!['n']).toBe('500'));
  await settles(async () => expect(statements.length).toBeGreaterThanOrEqual(3)); // the last one found nothing
  expect(statements.length).toBe(3);
  relay.wake();
  await settles(async () => expect(statements.length).toBe(4));
  await relay[Symbol.asyncDispose]();
});

test('the bus wakes the relay', async () => {
  const { relay, bus } = start('a', { sweepMs: 60_000 });
  await settles(async () => expect(statements.length).toBe(1));
  await append(sql, facts(1));
  await bus.publish(OUTBOX_TOPIC, [{}]);
  await settles(async () => expect(await count()).toBe(1));
  await relay[Symbol.asyncDispose]();
});

test('one relay works at a time; another follows when its lease is given up or has expired', async () => {
  const first = start('a', { leaseSeconds: 60 });
  await settles(async () => expect((await sql`select holder from leases`)[0]).toEqual({ holder: 'a' }));
  const other = start('b', { leaseSeconds: 60 });
  await append(sql, facts(3));
  await settles(async () => expect(await count()).toBe(3));
  expect((await sql`select holder from leases`)[0]).toEqual({ holder: 'a' });
  await first.relay[Symbol.asyncDispose]();
  other.relay.wake();
  await settles(async () => expect((await sql`select holder from leases`)[0]).toEqual({ holder: 'b' }));
  await sql`update leases set holder = 'dead', expires_at = now() - interval '1 s'`;
  await append(sql, facts(3));
  other.relay.wake();
  await settles(async () => expect(await count()).toBe(6));
  await other.relay[Symbol.asyncDispose]();
});

test('two relays that both believe to hold the lease deal each row once', async () => {
  await append(sql, facts(900));
  const relays = [start('same'), start('same')];
  await settles(async () => expect(await count()).toBe(900)); // a row twice would break the key of `heard`
  await Promise.all(relays.map(({ relay }) => relay[Symbol.asyncDispose]()));
  expect((await sql`select count(*) filter (where refused is not null) as refused from outbox`)[0]).toEqual({ refused: '0' });
});

test('a row that no consumer can take is set aside with its reason; its neighbours go on', async () => {
  const picky: Consumer = {
    name: 'hearing',
    topic: 'heard',
    write: (tx) =>
      tx`hearing_written as (insert into heard (id, topic, payload) select id, topic, to_jsonb(1 / (payload ->> 'reason')::int) from gone returning topic as wake)`,
  };
  await append(sql, facts(4));
  const { relay } = start('a', { consumers: [picky] });
  await settles(async () => expect(await count()).toBe(3));
  await settles(async () => expect((await sql`select refused from outbox`)[0]).toEqual({ refused: expect.stringContaining('division by zero') }));
  await append(sql, facts(2).slice(1));
  relay.wake();
  await settles(async () => expect(await count()).toBe(4));
  await relay[Symbol.asyncDispose]();
});

test('a bus that is away loses nothing but wake-ups', async () => {
  const { relay } = start('a', { bus: { publish: () => Promise.reject(new Error('away')), subscribe: () => {} } });
  await append(sql, facts(2));
  relay.wake();
  await settles(async () => expect(await count()).toBe(2));
  await relay[Symbol.asyncDispose]();
});

const WHOLE_MS = 5_000;

/** A relay on a connection of its own, which looks when it is told to, and whose time stands still. */
async function lookingWhenTold() {
  let time = 0;
  const clock = { ...systemClock, monotonic: () => time };
  const looks: string[] = [];
  const own = openDatabase({ url: db.url, connections: 1, onStatement: (text) => void (text.includes('lateral') && looks.push(text)) });
  const { relay } = start('a', { sql: own, clock, sweepMs: 600_000 });
  const look = async () => {
    const before = looks.length;
    relay.wake();
    await settles(async () => expect(looks.length).toBeGreaterThan(before));
    await own`select`; // the look is over: it has the only connection
  };
  const blocks = async () => {
    await own`select pg_stat_force_next_flush()`;
    const [row] =
      await own`select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as n from pg_statio_user_tables where relname = 'outbox'`;
    return row!['n'] as number;
  };
  return {
    look,
    wholeLook: () => ((time += WHOLE_MS), look()),
    async blocksOf(work: () => Promise<unknown>) {
      const before = await blocks();
      await work();
      return (await blocks()) - before;
    },
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      await own.end();
    },
  };
}

test('while a backup holds a snapshot, a look does not read what has been dealt out', async () => {
  await sql`alter table outbox set (autovacuum_enabled = off)`; // what it reads would be counted
  const backup = await db.sql.reserve();
  await backup`begin isolation level repeatable read`;
  await backup`select from outbox`;
  try {
    await using relay = await lookingWhenTold();
    const costs = [];
    for (const more of [2_000, 20_000]) {
      await append(sql, facts(more));
      await relay.look();
      await settles(async () => expect(await sql`select from outbox`).toHaveLength(0));
      await sql`analyze outbox`; // as the server else does by itself
      for (let n = 0; n < 7; n++) await relay.wholeLook(); // more than it takes to begin behind them; and the prepared statement has its plan
      costs.push({ whole: await relay.blocksOf(relay.wholeLook), look: await relay.blocksOf(relay.look) });
    }
    const [few, many] = costs;
    expect(many!.whole).toBeGreaterThan(few!.whole + 100); // the snapshot does hold the rows
    expect(many!.look).toBeLessThanOrEqual(few!.look + 2);
  } finally {
    await backup`commit`;
    backup.release();
  }
});

test('a row whose transaction ends long after later rows were dealt out is dealt out', async () => {
  await using relay = await lookingWhenTold();
  const late = await db.sql.reserve();
  await late`begin`;
  await append(late, facts(1));
  await append(sql, facts(3));
  await relay.look();
  await settles(async () => expect(await count()).toBe(3));
  for (let n = 0; n < 3; n++) await relay.wholeLook();
  await late`commit`;
  late.release();
  await relay.look();
  expect(await count()).toBe(3); // behind the rows at which an ordinary look begins
  await relay.wholeLook();
  await settles(async () => expect(await count()).toBe(4));
});

test('a lease that is fresh enough is read, and neither written nor locked', async () => {
  const [a, b] = ['a', 'b'].map((holder) => openLease({ sql, name: 'work', holder, seconds: 600 }));
  expect([await a!.held(), await a!.held(), await b!.held()]).toEqual([true, true, false]);
  expect((await sql`select xmax::text from leases`)[0]).toEqual({ xmax: '0' }); // a lock would stand here, and in the log that each commit waits for
});

test('a lease has one holder, is kept by asking, and follows the clock of the database', async () => {
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
