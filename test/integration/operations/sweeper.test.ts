import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startSweeper, type Sweeper } from '../../../actors/host/sweeper.ts';
import type { Sweep } from '../../../src/platform/wing/index.ts';
import { dropOldStates } from '../../../src/publishing/channels/connect/logins.ts';
import { dropOldKeys, listRuns, openLease } from '../../../src/platform/db/index.ts';
import { dropOldEvents } from '../../../src/billing/subscriptions/event-store.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { dropOldLateness } from '../../../src/publishing/posts/gauges.ts';
import { dropOldLedger } from '../../../src/operations/sandbox/store.ts';
import { dropOldDeliveries } from '../../../src/delivery/webhooks/retention.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

let product: Product;
let db: Product['db'];
let ann: SignedUp;
/** All sweeps of the product, when a test says so: it has their lease, so the product's own sweeper stands aside. */
let everySweep: Sweeper;
beforeAll(async () => {
  product = await wholeProduct();
  db = product.db;
  const lease = openLease({ sql: db.sql, name: 'sweeper', holder: newId(), seconds: 3_600 });
  await eventually('the lease is ours', () => lease.held());
  everySweep = startSweeper({
    sql: db.sql,
    sweeps: product.context.sweeps,
    lease,
    clock: systemClock,
    log: quietLog(),
    tickMs: 3_600_000,
  });
  ann = await product.signUp();
});
afterAll(async () => {
  await everySweep[Symbol.asyncDispose]();
  await product[Symbol.asyncDispose]();
});
beforeEach(() => db.sql`update cron_runs set last_run_at = null`);

const count = async (table: string): Promise<number> =>
  (await db.sql`select count(*)::int as n from ${db.sql(table)}`)[0]!['n'] as number;
const run = async (name: string) => (await listRuns(db.sql)).find((one) => one.name === name)!;
/** A UUID v7 of some days ago. */
const oldId = (days: number): string => {
  const hex = (Date.now() - days * 86_400_000).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${newId().slice(13)}`;
};

test('a sweep that lasts goes on after the others', async () => {
  let ms = 0;
  const ran: string[] = [];
  const sweep = (name: string, takesMs: number): Sweep => ({
    name,
    everyMs: 60_000,
    async run(limit) {
      ran.push(name);
      ms += takesMs;
      return takesMs > 0 ? limit : 0; // a network that hangs: there is always more
    },
  });
  await using sweeper = startSweeper({
    sql: db.sql,
    sweeps: [sweep('asks-slow-network', 25_000), sweep('sends-mails', 0)],
    lease: { held: async () => true, release: async () => {} },
    clock: { ...systemClock, monotonic: () => ms },
    log: quietLog(),
    tickMs: 3_600_000,
  });
  await sweeper.tick();
  expect(ran).toEqual(['asks-slow-network', 'asks-slow-network', 'asks-slow-network', 'sends-mails']);
});

describe('sweeps', () => {
  test('delete idempotency keys after a day [S18]', async () => {
    for (const age of ['25 hours', '23 hours'])
      await db.sql`
        insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until, created_at)
        values (${ann.orgId}, 'POST /x', ${age}, ${Buffer.of(1)}, ${newId()}, now(), now() - ${age}::interval)`;
    await everySweep.tick();
    expect(await db.sql`select key from idempotency_keys`).toEqual([{ key: '23 hours' }]);
  });

  test('delete unfinished logins', async () => {
    for (const left of ['-1 second', '1 hour'])
      await db.sql`
        insert into connect_states (state_hash, org_id, user_id, provider_id, provider_version, sealed, expires_at)
        values (${Buffer.from(left)}, ${ann.orgId}, ${ann.userId}, 'sandbox', 'v1', '', now() + ${left}::interval)`;
    await everySweep.tick();
    expect(await db.sql`select state_hash as hash from connect_states`).toEqual([{ hash: Buffer.from('1 hour') }]);
  });

  test('delete minutes of lateness, including those of hosts that are gone', async () => {
    for (const age of ['3 hours', '1 hour'])
      await db.sql`
        insert into lateness (minute, incarnation, buckets) values (now() - ${age}::interval, 'gone', '{1}')`;
    await everySweep.tick();
    expect(await count('lateness')).toBe(1);
  });

  test('delete finished deliveries and attempts after 30 days and keep waiting ones', async () => {
    const webhookId = newId();
    await db.sql`
      insert into webhooks (id, org_id, name, url) values (${webhookId}, ${ann.orgId}, 'Hook', 'https://example.com/')`;
    const delivery = async (days: number, state: string) => {
      const id = newId();
      await db.sql`
        insert into webhook_deliveries (id, org_id, webhook_id, event, body, state, created_at)
        values (${id}, ${ann.orgId}, ${webhookId}, 'ping', '{}', ${state}, now() - ${days}::int * interval '1 day')`;
      await db.sql`
        insert into webhook_attempts (id, org_id, webhook_id, delivery_id, attempt, status, duration_ms)
        values (${oldId(days)}, ${ann.orgId}, ${webhookId}, ${id}, 1, 200, 1)`;
      return id;
    };
    await delivery(31, 'succeeded');
    await delivery(31, 'failed');
    const kept = [await delivery(29, 'succeeded'), await delivery(31, 'pending')];
    await everySweep.tick();
    expect((await db.sql`select id from webhook_deliveries`).map(({ id }) => id as string).toSorted()).toEqual(
      kept.toSorted(),
    );
    expect(await count('webhook_attempts')).toBe(1);
    expect(await run('webhook-deliveries')).toMatchObject({ lastStatus: 'ok', lastChanged: 5 });
  });

  test('delete entries of the sandbox after a week', async () => {
    for (const age of ['8 days', '6 days'])
      await db.sql`
        insert into sandbox_ledger (at, account, step, accepted, answered)
        values (now() - ${age}::interval, ${age}, 'publish', true, 'ok')`;
    await everySweep.tick();
    expect(await db.sql`select account from sandbox_ledger`).toEqual([{ account: '6 days' }]);
  });

  test('delete copies of outside media through the room', async () => {
    await db.sql`
      insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, listed, source_url,
        created_at)
      values (${newId()}, ${ann.orgId}, 'a', 'a', 'x/y.png', 'image', 'image/png', 1, false,
        'https://example.com/a.png', now() - interval '2 days')`;
    await everySweep.tick();
    expect(await count('files')).toBe(0);
  });
});

describe('the sweeper', () => {
  const sweep = (name: string, more: Partial<Sweep> = {}): Sweep & { limits: number[] } => {
    const limits: number[] = [];
    return {
      name,
      everyMs: 3_600_000,
      limits,
      run: async (limit) => {
        limits.push(limit);
        return 0;
      },
      ...more,
    };
  };
  const withSweeps = async (
    sweeps: readonly Sweep[],
    work: (sweeper: Sweeper) => Promise<void>,
    holder: string = newId(),
  ) => {
    await using sweeper = startSweeper({
      sql: db.sql,
      sweeps,
      lease: openLease({ sql: db.sql, name: 'sweeper of the test', holder, seconds: 60 }),
      clock: systemClock,
      log: quietLog(),
      tickMs: 3_600_000,
      limit: 10,
    });
    await work(sweeper);
  };

  test('runs a sweep when its interval is over, across restarts, and repeats it while batches come back full', async () => {
    const parts = [10, 10, 3];
    const often = sweep('often', { run: async () => parts.shift() ?? 0 });
    await withSweeps([often], async (sweeper) => {
      expect(await sweeper.tick()).toEqual(['often']);
      expect(await sweeper.tick()).toEqual([]);
    });
    expect(parts).toEqual([]);
    expect(await run('often')).toMatchObject({
      lastStatus: 'ok',
      lastChanged: 23,
      lastDurationMs: expect.any(Number),
      lastRunAt: expect.any(Date),
    });
    await withSweeps([often], async (sweeper) => expect(await sweeper.tick()).toEqual([]));
    await db.sql`update cron_runs set last_run_at = now() - interval '61 minutes' where name = 'often'`;
    await withSweeps([often], async (sweeper) => expect(await sweeper.tick()).toEqual(['often']));
  });

  test('goes on with a sweep that ended before its work did, with one at each look behind what is due', async () => {
    const full = (name: string, rounds: number) => {
      let left = rounds;
      return sweep(name, { run: async (limit) => (left-- > 0 ? limit : 0) });
    };
    await withSweeps([full('c most', 450), full('d more', 250)], async (sweeper) => {
      expect(await sweeper.tick()).toEqual(['c most', 'd more']); // 200 rounds of each
      expect(await sweeper.tick()).toEqual(['c most']);
      expect(await sweeper.tick()).toEqual(['d more']);
      expect(await sweeper.tick()).toEqual(['c most']);
      expect(await sweeper.tick()).toEqual([]);
    });
  });

  test('leaves a sweep that it is ended in due for the process that follows', async () => {
    const begun = Promise.withResolvers<void>();
    const mine = sweep('cut', {
      async run(limit) {
        begun.resolve();
        await nextTurn();
        return limit;
      },
    });
    const options = { sql: db.sql, sweeps: [mine], clock: systemClock, log: quietLog(), tickMs: 1 };
    const sweeper = startSweeper({ ...options, lease: { held: async () => true, release: async () => {} } });
    await begun.promise;
    await sweeper[Symbol.asyncDispose]();
    expect(await run('cut')).toMatchObject({ lastRunAt: null });
  });

  test('leaves a sweep due for the process that has the lease, where it was lost meanwhile', async () => {
    let asked = 0;
    const lost = sweep('lost', {
      async run(limit) {
        asked = 1;
        return limit;
      },
    });
    const held = async () => (asked === 0 ? true : ++asked < 2);
    const options = { sql: db.sql, sweeps: [lost], clock: systemClock, log: quietLog(), tickMs: 1 };
    await using _sweeper = startSweeper({ ...options, lease: { held, release: async () => {} } });
    await eventually('it looks again', () => asked > 3);
    expect(await run('lost')).toMatchObject({ lastRunAt: null });
  });

  test('goes on with the others when one sweep fails, and says so', async () => {
    const fine = sweep('b fine');
    await withSweeps([sweep('a broken', { run: () => Promise.reject(new Error('broken')) }), fine], async (sweeper) =>
      expect(await sweeper.tick()).toEqual(['a broken', 'b fine']),
    );
    expect(fine.limits).toEqual([10]);
    expect(await run('a broken')).toMatchObject({ lastStatus: 'failed', lastChanged: 0 });
  });

  test('runs nothing without the lease', async () => {
    const mine = sweep('leased');
    await openLease({ sql: db.sql, name: 'sweeper of the test', holder: 'another process', seconds: 60 }).held();
    await withSweeps([mine], async (sweeper) => expect(await sweeper.tick()).toEqual([]));
    expect(mine.limits).toEqual([]);
    await db.sql`delete from leases where name = 'sweeper of the test'`;
  });

  test('reports the last runs to the health summary and to operators [HE5, S24]', async () => {
    await everySweep.tick();
    const { body } = await ann.client.get('/health');
    const names = ['idempotency-keys', 'lateness', 'logins', 'media', 'sandbox-ledger', 'webhook-deliveries'];
    expect(body.crons.filter(({ name }: { name: string }) => names.includes(name))).toEqual(
      names.map((name) => ({
        name,
        lastRunAt: expect.stringMatching(/Z$/),
        lastStatus: 'ok',
        lastDurationMs: expect.any(Number),
      })),
    );
    expect((await ann.client.get('/admin/actors')).body.crons).toContainEqual({
      name: 'media',
      lastRunAt: expect.any(String),
      lastStatus: 'ok',
      lastDurationMs: expect.any(Number),
      lastChanged: expect.any(Number),
    });
  });

  test('uses an index in each scan and stops at its limit', async () => {
    await db.sql`
      insert into sandbox_ledger (account, step, accepted, answered)
      select 'many', 'publish', false, 'error'
      from generate_series(1, 5000)`;
    await db.sql`
      insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until)
      select ${ann.orgId}, 'POST /many', n::text, '\\x00', gen_random_uuid(), now()
      from generate_series(1, 5000) n`;
    await db.sql`
      insert into lateness (minute, incarnation, buckets) select now(), n::text, '{1}' from generate_series(1, 5000) n`;
    await db.sql`
      insert into connect_states (state_hash, org_id, user_id, provider_id, provider_version, sealed, expires_at)
      select decode(lpad(to_hex(n), 8, '0'), 'hex'), ${ann.orgId}, ${ann.userId}, 'sandbox', 'v1', '',
        now() + interval '1 hour'
      from generate_series(1, 5000) n`;
    await db.sql`
      insert into payment_events (id, type, outcome, created_at)
      select n::text, 'invoice.payment_succeeded', 'applied', now()
      from generate_series(1, 5000) n`;
    const [hook] = await db.sql`select id from webhooks limit 1`;
    await db.sql`
      insert into webhook_deliveries (id, org_id, webhook_id, event, body, state)
      select gen_random_uuid(), ${ann.orgId}, ${hook!['id']}, 'ping', '{}', 'succeeded'
      from generate_series(1, 5000)`;
    const now = newId().slice(0, 14);
    await db.sql`
      insert into webhook_attempts (id, org_id, webhook_id, delivery_id, attempt, status, duration_ms)
      select (${now} || substr(gen_random_uuid()::text, 15))::uuid, ${ann.orgId}, ${hook!['id']}, gen_random_uuid(), 1,
        200, 1
      from generate_series(1, 5000)`;
    await db.sql`
      insert into webhooks (id, org_id, name, url, deleted_at)
      select gen_random_uuid(), ${ann.orgId}, 'gone', 'https://gone.example', now() - interval '2 days'
      from generate_series(1, 5000)`;
    await db.sql`analyze`;
    db.statements.length = 0;
    await dropOldKeys(db.sql, 10);
    await dropOldStates(db.sql, 10);
    await dropOldLateness(db.sql, 10);
    await dropOldDeliveries(db.sql, 86_400_000, 10);
    await dropOldLedger(db.sql, 10);
    await dropOldEvents(db.sql, 10);
    const sent = db.statements.filter((text) => /^\s*(\/\*|delete)/.test(text));
    expect(sent.length).toBe(8);
    for (const text of sent) {
      const asked = text
        .replace(/limit\s+\$\d+/g, 'limit 10')
        .replace('id < $1', `id < '${oldId(1)}'`)
        .replace('deleted_at < $1', "deleted_at < now() - interval '1 day'")
        .replace('created_at < $1', "created_at < now() - interval '1 day'");
      const plan = JSON.stringify((await db.sql.unsafe(`explain (analyze, format json) ${asked}`))[0]!['QUERY PLAN']);
      expect([text, /"Node Type":"Seq Scan"/.test(plan)]).toEqual([text, false]);
      for (const [, rows] of plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":(\d+)/g))
        expect(Number(rows)).toBeLessThanOrEqual(10);
    }
  });
});
