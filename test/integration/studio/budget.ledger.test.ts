// oxlint-disable max-lines -- one ledger, its caps and its alerts
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openDatabase, type Sql } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type Budget, openBudget, type Reservation } from '../../../src/studio/budget/index.ts';
import { fc } from '../../support/properties.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

// Money first: the ledger against its counters at each step of any history, and caps against callers of several processes.

const KNOWN = ['acme', 'globex'];
const providers = { list: () => KNOWN.map((id) => ({ id })) } as never; // all that the room asks of the registry
const settings = {} as never; // nothing there is asked what it cost
const BY = { userId: null, impersonatorId: null, ip: null };
const NOTHING = { monthlyCents: null, dailyCents: null, providers: [], alertPercents: [50, 80, 100] };

let db: TestDatabase;
let budget: Budget;
let orgId: string;
beforeAll(async () => {
  db = await testDatabase({ connections: 4 });
  budget = openBudget({ sql: db.sql, providers, settings, enforce: true, log: quietLog() });
});
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => {
  orgId = newId();
  await db.sql`insert into organizations (id, name) values (${orgId}, 'Acme')`;
});

const begin = <T>(work: (tx: Sql) => Promise<T>) => db.sql.begin((tx) => work(tx));
const call = (given: Partial<Reservation> = {}): Reservation => ({
  orgId,
  userId: newId(),
  domain: 'ai',
  providerId: 'acme',
  micros: 1_000,
  ref: newId(),
  ...given,
});
/** Reserves in a commit of its own; answers the key. */
async function reserved(given: Partial<Reservation> = {}): Promise<{ orgId: string; ref: string }> {
  const one = call(given);
  await begin((tx) => budget.reserve(tx, one));
  return { orgId: one.orgId, ref: one.ref };
}
const cost = (micros: number) => ({ micros, source: 'reply' as const });
const ledger = () => db.sql<
  { kind: string; micros: number; source: string | null; told: string | null; marked: boolean }[]
>`
  select kind, micros::float8, source, told, marked
  from ai_ledger
  where org_id = ${orgId}
  order by at, kind`;
/** Windows whose sums are not those of the ledger; none is as it should be. */
const wrongWindows = () => db.sql`
  with sums as (
    select s.domain, s.provider_id, p.period, date_trunc(p.period, l.day::timestamp)::date as starts,
      sum(micros) filter (where kind in ('settlement', 'correction')) as spent,
      sum(micros) filter (where kind in ('reservation', 'release')) as reserved
    from ai_ledger l
    cross join lateral (values ('', ''), (l.domain, l.provider_id)) s (domain, provider_id)
    cross join (values ('day'), ('month')) p (period)
    where org_id = ${orgId}
    group by 1, 2, 3, 4
  )
  select *
  from sums
  full join (select * from ai_spend where org_id = ${orgId}) c using (domain, provider_id, period, starts)
  where coalesce(sums.spent, 0) is distinct from coalesce(c.spent, 0)
    or coalesce(sums.reserved, 0) is distinct from coalesce(c.reserved, 0)`;
/** What a window over all providers holds. */
async function balance(period: 'day' | 'month' = 'month') {
  const [row] = await db.sql<{ spent: number; reserved: number }[]>`
    select spent::float8, reserved::float8
    from ai_spend
    where org_id = ${orgId} and domain = '' and period = ${period}`;
  return row ?? { spent: 0, reserved: 0 };
}
const set = (change: Parameters<Budget['change']>[1]) => budget.change(orgId, change, BY);
const alerts = async () =>
  (
    await db.sql<{ payload: Record<string, unknown> }[]>`
      select payload from outbox where org_id = ${orgId} and topic = 'ai.budget_alert' order by id`
  ).map(({ payload }) => payload);

describe('the ledger', () => {
  test('is the sum of its windows after every step of any history', async () => {
    const step = fc.record({
      act: fc.constantFrom('reserve', 'settle', 'estimate', 'release', 'correct', 'yesterday', 'lapse'),
      provider: fc.constantFrom(...KNOWN),
      domain: fc.constantFrom('ai' as const, 'media' as const),
      micros: fc.oneof(fc.integer({ min: 0, max: 50_000 }), fc.constantFrom(-5, Number.NaN, Infinity, 1e18, 0.5)),
      pick: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const refs: string[] = [];
        for (const { act, provider, domain, micros, pick } of steps) {
          const key = { orgId, ref: refs[pick % Math.max(refs.length, 1)] ?? newId() };
          if (act === 'reserve') {
            const priced = Number.isFinite(micros) && micros >= 0 && micros < 1e6 ? micros : undefined;
            refs.push((await reserved({ providerId: provider, domain, micros: priced })).ref);
          } else if (act === 'settle') await begin((tx) => budget.settle(tx, key, cost(micros)));
          else if (act === 'estimate') await begin((tx) => budget.settle(tx, key, undefined, { marked: true }));
          else if (act === 'release') await begin((tx) => budget.release(tx, key));
          else if (act === 'correct') await begin((tx) => budget.settle(tx, key, cost(7)));
          else if (act === 'yesterday')
            await db.sql`update ai_reservations set until = now() - interval '1 minute' where org_id = ${orgId} and ref = ${key.ref}`;
          else await budget.settleLapsed(100);
          expect(await wrongWindows()).toEqual([]);
        }
        const [open] = await db.sql<{ micros: number }[]>`
          select coalesce(sum(micros), 0)::float8 as micros from ai_reservations where org_id = ${orgId}`;
        expect((await balance()).reserved).toBe(open!.micros);
      }),
      { numRuns: 12 },
    );
  });

  test('has a reservation, its release and what the call cost; a call is settled once', async () => {
    const key = await reserved({ micros: 900 });
    expect(await balance()).toEqual({ spent: 0, reserved: 900 });
    await begin((tx) => budget.settle(tx, key, cost(250.2)));
    await begin((tx) => budget.settle(tx, key, cost(999)));
    await begin((tx) => budget.release(tx, key));
    expect(await ledger()).toMatchObject([
      { kind: 'reservation', micros: 900, source: 'estimate' },
      { kind: 'release', micros: -900 },
      { kind: 'settlement', micros: 251, source: 'reply', marked: false, told: null },
    ]);
    expect(await balance()).toEqual({ spent: 251, reserved: 0 });
  });

  test('a call that cost nothing leaves nothing in the balance', async () => {
    const key = await reserved();
    await begin((tx) => budget.release(tx, key));
    await begin((tx) => budget.settle(tx, key, cost(5)));
    expect((await ledger()).map(({ kind }) => kind)).toEqual(['reservation', 'release']);
    expect(await balance()).toEqual({ spent: 0, reserved: 0 });
  });

  test('a lost call is settled by its estimate and marked; the true cost corrects it once', async () => {
    const key = await reserved({ micros: 800 });
    await begin((tx) => budget.settle(tx, key, undefined, { marked: true }));
    expect(await balance()).toEqual({ spent: 800, reserved: 0 });
    await begin((tx) => budget.settle(tx, key, cost(300)));
    await begin((tx) => budget.settle(tx, key, cost(100)));
    expect((await ledger()).slice(2)).toMatchObject([
      { kind: 'settlement', micros: 800, source: 'estimate', marked: true },
      { kind: 'correction', micros: -500, source: 'reply', marked: false },
    ]);
    expect(await balance()).toEqual({ spent: 300, reserved: 0 });
  });

  test.each([
    [-5, 1_000],
    [Number.NaN, 1_000],
    [Infinity, 1_000],
    [1_000_001, 1_000],
    [1e18, 1_000],
  ])('a cost of %s is kept and marked, and counts as %s: no cap grows by it', async (told, counted) => {
    const key = await reserved({ micros: 1_000 });
    await begin((tx) => budget.settle(tx, key, cost(told)));
    const [settlement] = (await ledger()).filter(({ kind }) => kind === 'settlement');
    expect(settlement).toMatchObject({ marked: true, micros: counted });
    expect(Number(settlement!.told)).toBe(told === 1e18 ? 1e18 : told);
    expect(await balance()).toEqual({ spent: counted, reserved: 0 });
  });

  test('a cost beyond all sense that comes late corrects nothing', async () => {
    const key = await reserved({ micros: 1_000 });
    await begin((tx) => budget.settle(tx, key, undefined, { marked: true }));
    await begin((tx) => budget.settle(tx, key, cost(1_000_001)));
    expect(await balance()).toEqual({ spent: 1_000, reserved: 0 });
    await begin((tx) => budget.settle(tx, key, cost(300)));
    expect(await balance()).toEqual({ spent: 300, reserved: 0 });
  });

  test('a call whose process died is settled by its estimate once its time is over, and not before', async () => {
    const [dead, alive] = [await reserved({ micros: 300, holdMs: -1 }), await reserved({ micros: 40 })];
    expect(await budget.settleLapsed(100)).toBe(1);
    expect(await budget.settleLapsed(100)).toBe(0);
    expect(await balance()).toEqual({ spent: 300, reserved: 40 });
    await begin((tx) => budget.settle(tx, dead, cost(100)));
    await begin((tx) => budget.settle(tx, alive, cost(1)));
    expect(await balance()).toEqual({ spent: 101, reserved: 0 });
  });

  test('a lapsed call that cannot be settled holds up no other', async () => {
    const log = quietLog();
    const logged = openBudget({ sql: db.sql, providers, settings, enforce: true, log });
    const bad = await reserved({ micros: 300, holdMs: -2_000 }); // comes first
    await reserved({ micros: 40, holdMs: -1_000 });
    {
      await using _refused = await refuseRows(db.sql, 'delete', 'ai_reservations', `old.ref = '${bad.ref}'`);
      expect(await logged.settleLapsed(1)).toBe(1); // it goes past the one that comes first in each call
      expect(await balance()).toEqual({ spent: 40, reserved: 300 });
      expect(log.lines).toMatchObject([{ level: 'warn', detail: bad }]);
    }
    expect(await logged.settleLapsed(100)).toBe(1);
    expect(await balance()).toEqual({ spent: 340, reserved: 0 });
  });

  test('is only added to: a change and a removal of a row are refused', async () => {
    await reserved();
    await expect(db.sql`update ai_ledger set micros = 0 where org_id = ${orgId}`).rejects.toThrow('only added to');
    await expect(db.sql`delete from ai_ledger where org_id = ${orgId}`).rejects.toThrow('only added to');
    await db.sql`delete from organizations where id = ${orgId}`;
    expect(await ledger()).toEqual([]);
  });

  test('a settlement on another day belongs to the windows of its reservation', async () => {
    const key = await reserved({ micros: 500 });
    await db.sql.begin(async (tx) => {
      await tx`select set_config('rookery.ai_ledger', 'change', true)`;
      await tx`update ai_ledger set day = '2001-02-28' where org_id = ${orgId}`;
      await tx`update ai_reservations set day = '2001-02-28' where org_id = ${orgId}`;
      await tx`update ai_spend set starts = case period when 'day' then date '2001-02-28' else '2001-02-01' end where org_id = ${orgId}`;
    });
    await begin((tx) => budget.settle(tx, key, cost(70)));
    expect(await wrongWindows()).toEqual([]);
    expect(await db.sql`select distinct starts::text from ai_spend where org_id = ${orgId} order by 1`).toEqual([
      { starts: '2001-02-01' },
      { starts: '2001-02-28' },
    ]);
  });
});

describe('caps', () => {
  test('refuse with 402 what they have no room for, and let pass what fits exactly', async () => {
    await set({ dailyCents: 1 });
    const key = await reserved({ micros: 6_000 });
    await reserved({ micros: 4_000 });
    await expect(reserved({ micros: 1 })).rejects.toMatchObject({
      code: 'limit_exceeded',
      status: 402,
      message: expect.stringContaining('AI budget of this day for all providers'),
      extra: { limit: 'ai_budget', max: 1, period: 'day' },
    });
    expect(await balance('day')).toEqual({ spent: 0, reserved: 10_000 });
    await begin((tx) => budget.settle(tx, key, cost(1_000)));
    await reserved({ micros: 5_000 });
    expect(await wrongWindows()).toEqual([]);
  });

  test('of one provider hold for it alone, those over all for every one', async () => {
    await set({
      monthlyCents: 10,
      providers: [{ domain: 'ai', providerId: 'acme', monthlyCents: 1, dailyCents: null }],
    });
    await reserved({ micros: 10_000 });
    await expect(reserved({ micros: 1 })).rejects.toMatchObject({
      extra: { limit: 'ai_budget', max: 1, period: 'month', domain: 'ai', provider: 'acme' },
    });
    await reserved({ domain: 'media', micros: 10_000 });
    await reserved({ providerId: 'globex', micros: 80_000 });
    await expect(reserved({ providerId: 'globex', micros: 1 })).rejects.toMatchObject({ extra: { max: 10 } });
  });

  test('below what is spent refuse the next call', async () => {
    const key = await reserved({ micros: 30_000 });
    await begin((tx) => budget.settle(tx, key, cost(30_000)));
    await set({ monthlyCents: 2 });
    await expect(reserved({ micros: 0 })).rejects.toMatchObject({ code: 'limit_exceeded' });
    await set({ monthlyCents: null });
    await reserved({ micros: 1 });
  });

  test('refuse a model without a price and say where to set one; without a cap it passes and is recorded', async () => {
    const unpriced = { micros: undefined, model: 'acme-2' };
    await set({ providers: [{ domain: 'ai', providerId: 'globex', monthlyCents: null, dailyCents: 100 }] });
    const key = await reserved(unpriced);
    await expect(reserved({ ...unpriced, providerId: 'globex' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/acme-2 of globex.*option prices of the setting of globex/),
      extra: { errors: [{ field: 'model', rule: 'no_price' }] },
    });
    await set({ providers: [{ domain: 'media', providerId: 'globex', monthlyCents: null, dailyCents: 100 }] });
    await expect(reserved({ ...unpriced, domain: 'media', providerId: 'globex' })).rejects.toMatchObject({
      message: expect.stringMatching(/globex, with the most .*perImage, perSecond or characters.* priced by tokens$/),
    });
    await begin((tx) => budget.settle(tx, key, undefined));
    expect(await ledger()).toMatchObject([
      { kind: 'reservation', micros: 0, source: null },
      { kind: 'release', micros: 0 },
      { kind: 'settlement', micros: 0, source: null, marked: false },
    ]);
  });

  test('are never passed by callers of several processes, and no balance is below the sum of what passed', async () => {
    await set({
      monthlyCents: 20,
      dailyCents: 15,
      providers: [{ domain: 'ai', providerId: 'acme', monthlyCents: 10, dailyCents: 10 }],
    });
    const processes = [1, 2, 3].map(() => {
      const sql = openDatabase({ url: db.url, connections: 4 });
      return { sql, budget: openBudget({ sql, providers, settings, enforce: true, log: quietLog() }) };
    });
    const tries = Array.from({ length: 120 }, (_, n) => {
      const { sql, budget: own } = processes[n % 3]!;
      const one = call({ micros: 2_000, providerId: KNOWN[n % 2]! });
      const done = sql.begin(async (tx) => {
        await own.reserve(tx, one);
      });
      return done.then(
        () => one.providerId,
        (error: { code: string }) => error.code,
      );
    });
    const outcomes = await Promise.all(tries);
    await Promise.all(processes.map(({ sql }) => sql.end()));
    const count = (what: string) => outcomes.filter((one) => one === what).length;
    expect(count('acme')).toBeLessThanOrEqual(50); // 10 cents of 0.2 each
    expect(count('acme') + count('globex')).toBe(75); // 15 cents a day
    expect(count('limit_exceeded')).toBe(45);
    expect(await balance('day')).toEqual({ spent: 0, reserved: 150_000 });
    expect(await wrongWindows()).toEqual([]);
  }, 30_000);

  test('that are not enforced let calls pass, while ledger and alerts go on', async () => {
    const lenient = openBudget({ sql: db.sql, providers, settings, enforce: false, log: quietLog() });
    await set({ dailyCents: 1 });
    const one = call({ micros: 50_000 });
    await begin((tx) => lenient.reserve(tx, one));
    await begin((tx) => lenient.reserve(tx, call({ micros: undefined })));
    await begin((tx) => lenient.settle(tx, one, cost(20_000)));
    expect(await balance('day')).toEqual({ spent: 20_000, reserved: 0 });
    expect((await alerts()).map(({ percent }) => percent)).toEqual([50, 80, 100]);
  });
});

describe('alerts', () => {
  const spend = async (micros: number, given: Partial<Reservation> = {}) => {
    const key = await reserved({ ...given, micros });
    await begin((tx) => budget.settle(tx, key, cost(micros)));
  };

  test('are announced once for each percentage, window and scope', async () => {
    await set({
      monthlyCents: 10,
      providers: [{ domain: 'ai', providerId: 'acme', monthlyCents: null, dailyCents: 5 }],
    });
    await spend(40_000);
    expect(await alerts()).toMatchObject([
      { domain: 'ai', providerId: 'acme', period: 'day', percent: 50, capCents: 5, spentMicros: 40_000 },
      { domain: 'ai', providerId: 'acme', period: 'day', percent: 80, capCents: 5, spentMicros: 40_000 },
    ]);
    await spend(10_000);
    await spend(1_000, { providerId: 'globex' });
    await spend(48_000, { providerId: 'globex' });
    expect((await alerts()).slice(2)).toMatchObject([
      { domain: null, providerId: null, period: 'month', percent: 50, capCents: 10, spentMicros: 50_000 },
      { domain: 'ai', providerId: 'acme', period: 'day', percent: 100 },
      { domain: null, period: 'month', percent: 80, spentMicros: 99_000 },
    ]);
  });

  test('come with a cap that is lowered to what is spent, and not with one that is raised', async () => {
    await spend(60_000);
    expect(await alerts()).toEqual([]);
    await set({ monthlyCents: 10, alertPercents: [60] });
    await set({ monthlyCents: 100, alertPercents: [60, 7] });
    await set({ monthlyCents: null });
    expect((await alerts()).map(({ percent }) => percent)).toEqual([60]);
    await set({ monthlyCents: 10 });
    expect((await alerts()).slice(1)).toMatchObject([
      { percent: 7, capCents: 10 },
      { percent: 60, capCents: 10 },
    ]);
    await set({ monthlyCents: null });
    await set({ monthlyCents: 10 });
    expect(await alerts()).toHaveLength(3);
  });

  test('are announced for a cap that was raised as it is reached, each once [NO16, S238]', async () => {
    const percents = async () => (await alerts()).map(({ domain, percent }) => [domain, percent]);
    await set({
      monthlyCents: 10,
      providers: [{ domain: 'ai', providerId: 'acme', monthlyCents: 10, dailyCents: null }],
    });
    await spend(100_000);
    expect((await percents()).toSorted()).toEqual(
      [50, 80, 100]
        .flatMap((percent) => [
          ['ai', percent],
          [null, percent],
        ])
        .toSorted(),
    );
    await set({ monthlyCents: 20 }); // half of it is spent, which is known
    await spend(50_000, { providerId: 'globex' });
    expect((await percents()).slice(6)).toEqual([]);
    await spend(10_000, { providerId: 'globex' });
    expect((await percents()).slice(6)).toEqual([[null, 80]]);
    await spend(40_000, { providerId: 'globex' });
    expect((await percents()).slice(7)).toEqual([[null, 100]]);
    await set({ alertPercents: [90] });
    expect((await percents()).slice(8)).toEqual([]);
    await set({ monthlyCents: 100 });
    await spend(700_000, { providerId: 'globex' });
    expect((await alerts()).slice(8)).toMatchObject([{ domain: null, percent: 90, capCents: 100 }]);
  });
});

describe('a change of the caps', () => {
  test('keeps what is not given, clears by null, and is noted in the audit log', async () => {
    expect(await budget.get(orgId)).toEqual(NOTHING);
    await set({ monthlyCents: 500, alertPercents: [90] });
    expect(await set({ dailyCents: 100 })).toEqual({
      ...NOTHING,
      monthlyCents: 500,
      dailyCents: 100,
      alertPercents: [90],
    });
    expect(await set({ monthlyCents: null })).toMatchObject({ monthlyCents: null, dailyCents: 100 });
    expect(await budget.get(orgId)).toEqual({ ...NOTHING, dailyCents: 100, alertPercents: [90] });
    const notes = await db.sql`select action, detail from audit_log where org_id = ${orgId} order by id`;
    expect(notes[0]).toEqual({ action: 'ai_budget.updated', detail: { fields: ['monthlyCents', 'alertPercents'] } });
  });

  test('refuses a provider that is not there or named twice, with its place', async () => {
    const caps = { domain: 'ai' as const, monthlyCents: 1, dailyCents: null };
    await expect(
      set({
        providers: [
          { ...caps, providerId: 'acme' },
          { ...caps, providerId: 'nobody' },
          { ...caps, providerId: 'acme' },
        ],
      }),
    ).rejects.toMatchObject({
      status: 400,
      extra: {
        errors: [
          { field: 'providers.1.providerId', rule: 'invalid_value' },
          { field: 'providers.2.providerId', rule: 'duplicate' },
        ],
      },
    });
  });
});
