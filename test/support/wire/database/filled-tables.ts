import type { Database } from '../../../../src/platform/db/index.ts';

/** Rows of each table, where a unique key allows as many. */
const ROWS = 60;

interface Column {
  table: string;
  name: string;
  type: string;
  /** Of the checks of this table. */
  checks: string;
}
/** Columns that a check wants, beside those that may not be null. */
const ALSO: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  emails: { content: "decode('00', 'hex')", next_attempt_at: 'now()' },
  program_limits: { api_key_id: 'gen_random_uuid()' },
};
/** A value of this type for row `n`, as SQL. */
function valueOf({ name, type, checks }: Column): string {
  const allowed = new RegExp(String.raw`\(${name} = (?:ANY \(ARRAY\[)?'([^']+)'`).exec(checks)?.[1];
  if (allowed !== undefined) return `'${allowed}'`;
  if (type === 'uuid') return 'gen_random_uuid()';
  if (type.endsWith('[]')) return `'{}'::${type}`;
  if (/^(text|character varying)/.test(type)) return "'row ' || n";
  if (type.startsWith('json')) return `'{}'::${type}`;
  if (/^(date|timestamp)/.test(type)) return `(date '2026-01-01' + n)::${type}`;
  if (type === 'bytea') return "decode(md5(n::text), 'hex')";
  if (type === 'boolean') return 'n % 2 = 0';
  if (type === 'interval') return "n * interval '1 s'";
  return `n::text::${type}`;
}

/**
 * Puts rows into every table that has none: what must have a value has one, whatever it refers to. Answers the tables
 * that are empty still.
 */
export async function fillTables(sql: Database): Promise<string[]> {
  const columns = await sql<Column[]>`
    select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      coalesce((
        select string_agg(pg_get_constraintdef(k.oid), ' ')
        from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'c'
      ), '') as checks
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace
      and c.relkind = 'r'
      and a.attnotnull
      and not a.atthasdef
      and a.attidentity = ''
      and c.relname <> 'migrations'
    order by c.relname, a.attnum`;
  await sql.begin(async (tx) => {
    await tx.unsafe('set local session_replication_role = replica'); // without references and triggers
    for (const [table, ofTable] of Map.groupBy(columns, (column) => column.table)) {
      if ((await tx.unsafe(`select from ${table} limit 1`)).count > 0) continue;
      const also = ALSO[table] ?? {};
      const into = [...ofTable.map(({ name }) => name), ...Object.keys(also)].map((name) => `"${name}"`).join(', ');
      const values = [...ofTable.map(valueOf), ...Object.values(also)].join(', ');
      await tx.unsafe(
        `insert into ${table} (${into}) select ${values} from generate_series(1, ${ROWS}) n on conflict do nothing`,
      );
    }
  });
  const empty: string[] = [];
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`;
  for (const { name } of tables) if ((await sql.unsafe(`select from ${name} limit 1`)).count === 0) empty.push(name);
  await sql.unsafe('analyze');
  return empty;
}
