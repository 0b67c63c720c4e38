import { fileURLToPath } from 'node:url';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';
import type { Database, Sql } from '../../../src/platform/db/index.ts';

const HOST = fileURLToPath(new URL('./processes/retention-host.ts', import.meta.url));
const DAYS = 100;
/** Rows that the sweeper deletes at a time. */
const BATCH = 500;

/** A table with rows of all ages, the sweep that forgets the old ones, and the same as plain SQL. */
interface Aged {
  name: string;
  table: string;
  sweep: string;
  key: string;
  /** A condition that picks the rows that are too old. */
  old: string;
  /** What a deletion needs before it. */
  before?: string;
}
const TABLES: readonly Aged[] = [
  {
    name: 'notifications',
    table: 'notifications',
    sweep: 'notifications',
    key: 'id',
    old: `created_at < now() - interval '${DAYS} days'`,
  },
  {
    name: 'audit',
    table: 'audit_log',
    sweep: 'audit',
    key: 'id',
    old: `at < now() - interval '${DAYS} days'`,
    before: `select set_config('rookery.audit_log', 'retention', true)`,
  },
  {
    name: 'post_days',
    table: 'analytics_post_days',
    sweep: 'analytics-posts',
    key: 'ctid',
    old: `date < (now() at time zone 'UTC')::date - ${DAYS}`,
  },
];
const BATCHED = 'batched DELETE';
const WHOLE = 'one DELETE';

/** Rows that are too old, half of each table: deleted by the sweeps, and by plain statements. */
export async function retention(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const rows = options.size ?? (options.quick ? 4_000 : 200_000);
  const database = await world.database();
  const host = world.script(HOST, { databaseUrl: database.url, days: DAYS });

  /** What one side does to each table, which is seeded anew. */
  const side = (name: string, work: (aged: Aged) => Promise<{ ms: number; statements?: number }>): Side => ({
    name,
    async run() {
      const { old } = (await host.ask({ do: 'seed', rows })) as { old: number };
      const figures: Record<string, number> = {};
      let statements = 0;
      for (const aged of TABLES) {
        const did = await work(aged);
        const [left] = await database.sql.unsafe<{ old: number; young: number }[]>(
          `select count(*) filter (where ${aged.old})::int as old, count(*)::int as young from ${aged.table}`,
        );
        if (left!.old > 0 || left!.young !== rows - old)
          throw new Error(`${name} left ${left!.old} old rows of ${left!.young} in ${aged.table}`);
        figures[`${aged.name}_per_s`] = old / (did.ms / 1_000);
        statements += did.statements ?? 0;
      }
      return {
        ...figures,
        ...(statements > 0 && { statements_per_batch: statements / ((old * TABLES.length) / BATCH) }),
      };
    },
  });
  const timed = async (work: Promise<unknown>) => {
    const begun = performance.now();
    await work;
    return { ms: performance.now() - begun };
  };
  const compared = await interleave(
    [
      side('rookery', ({ sweep }) => host.ask({ do: 'sweep', sweep })),
      side(BATCHED, (aged) => timed(batched(database.sql, aged))),
      side(WHOLE, (aged) => timed(whole(database.sql, aged))),
    ],
    TABLES.flatMap(({ name }): Comparison[] => [
      { name: `${name}, ${BATCHED}`, figure: `${name}_per_s`, peer: BATCHED, better: 'greater', goal: 0.8 },
      { name: `${name}, ${WHOLE}`, figure: `${name}_per_s`, peer: WHOLE, better: 'greater' },
    ]),
    options,
  );
  return {
    bench: 'retention',
    size: rows,
    ...compared,
    goals: [],
    settings: { batch: BATCH, days: DAYS, tables: TABLES.map(({ table }) => table).join(', ') },
    leavesOut: [
      `${WHOLE} holds all rows in one transaction; the sweeps have a commit for each ${BATCH}, and pass over rows that others hold`,
    ],
    skipped: [],
  };
}

const within = async (sql: Database, { before }: Aged, work: (tx: Sql) => Promise<{ count: number }>) => {
  if (before === undefined) return work(sql);
  return sql.begin(async (tx) => {
    await tx.unsafe(before);
    return work(tx);
  });
};
/** So many rows a statement, as they come. */
async function batched(sql: Database, aged: Aged): Promise<void> {
  const { table, key, old } = aged;
  const text = `delete from ${table} where ${key} in (select ${key} from ${table} where ${old} limit ${BATCH})`;
  for (let count = BATCH; count === BATCH;) ({ count } = await within(sql, aged, (tx) => tx.unsafe(text)));
}
const whole = (sql: Database, aged: Aged) =>
  within(sql, aged, (tx) => tx.unsafe(`delete from ${aged.table} where ${aged.old}`));
