import { type Database, type Fragment, groupCommit, type Sql } from '../../db/index.ts';
import { type Address, reminderKey } from '../address.ts';

/** A row of `actor_reminders`. */
export interface Row extends Address {
  name: string;
  dueMs: number;
  owner: string | undefined;
  data: unknown;
  version: string;
}
/**
 * One change of the table. `done` deletes only while the version is unchanged: what was registered again inside its own
 * callback stays.
 */
export type ReminderChange =
  | { kind: 'set'; row: Row }
  | { kind: 'drop' | 'done'; row: Pick<Row, 'type' | 'id' | 'name' | 'version'> };

// Postgres keeps any character in a text but U+0000.
const toText = (text: string): string =>
  /[\0\\]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') : text;
const fromText = (text: string): string =>
  text.includes('\\') ? text.replace(/\\(.)/g, (_, kind: string) => (kind === '0' ? '\0' : '\\')) : text;
const toJson = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const columns = (rows: readonly Pick<Row, 'type' | 'id' | 'name'>[]) => ({
  types: rows.map(({ type }) => toText(type)),
  ids: rows.map(({ id }) => toText(id)),
  names: rows.map(({ name }) => toText(name)),
});

/**
 * Writes the rows of `from`, overwriting those of the same address and name. Rows are locked in the order of their keys,
 * so that two writers never wait for each other.
 */
export const upsertReminders = (sql: Sql, from: Fragment): Fragment => sql`
    insert into actor_reminders (type, id, name, due_at, owner, data, version)
    select type, id, name, due_at, owner, data, version
    from ${from}
    order by type collate "C", id collate "C", name collate "C"
    on conflict (type, id, name) do update
      set due_at = excluded.due_at, owner = excluded.owner, data = excluded.data, version = excluded.version`;

export async function putReminders(sql: Sql, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const { types, ids, names } = columns(rows);
  await upsertReminders(
    sql,
    sql`(
      select type, id, name, to_timestamp(due / 1000) as due_at, owner, data::json as data, version
      from unnest(${types}::text[], ${ids}::text[], ${names}::text[], ${rows.map(({ dueMs }) => dueMs)}::float8[],
        ${rows.map(({ owner }) => (owner === undefined ? null : toText(owner)))}::text[],
        ${rows.map(({ data }) => toJson(data))}::text[], ${rows.map(({ version }) => version)}::uuid[])
        as t (type, id, name, due, owner, data, version)
    ) given`,
  );
}

async function deleteReminders(sql: Sql, changes: readonly ReminderChange[]): Promise<void> {
  if (changes.length === 0) return;
  const { types, ids, names } = columns(changes.map(({ row }) => row));
  await sql`
    delete from actor_reminders
    where (type, id, name) in (
      select r.type, r.id, r.name
      from unnest(${types}::text[], ${ids}::text[], ${names}::text[],
        ${changes.map(({ kind, row }) => (kind === 'done' ? row.version : null))}::uuid[]) as gone (type, id, name,
        version)
      join actor_reminders r on r.type = gone.type
        and r.id = gone.id
        and r.name = gone.name
        and (gone.version is null or r.version = gone.version)
      order by r.type collate "C", r.id collate "C", r.name collate "C"
      for update of r)`;
}

/**
 * All changes of this process to reminders, in the order in which they were asked for; those that meet share a
 * statement.
 */
export const changeReminders = groupCommit<ReminderChange, void>(
  async (sql, changes) => {
    const last = new Map<string, ReminderChange>();
    for (const change of changes) {
      const key = reminderKey(change.row.type, change.row.id, change.row.name);
      if (change.kind !== 'done' || !last.has(key)) last.set(key, change);
    }
    const left = [...last.values()];
    await deleteReminders(
      sql,
      left.filter(({ kind }) => kind !== 'set'),
    );
    await putReminders(
      sql,
      left.flatMap((change) => (change.kind === 'set' ? [change.row] : [])),
    );
    return changes.map(() => undefined);
  },
  { max: 1_000 },
);

/** The earliest reminders due before an instant of the database's clock, in the order of their due times. */
export async function nearReminders(sql: Sql, beforeMs: number, limit: number): Promise<Row[]> {
  const rows = await sql<(Omit<Row, 'owner' | 'data'> & { owner: string | null; data: unknown })[]>`
    select type, id, name, extract(epoch from due_at)::float8 * 1000 as "dueMs", owner, data, version
    from actor_reminders
    where due_at <= to_timestamp(${beforeMs}::float8 / 1000)
    order by due_at
    limit ${limit}`;
  return rows.map(({ type, id, name, dueMs, owner, data, version }) => ({
    type: fromText(type),
    id: fromText(id),
    name: fromText(name),
    dueMs: Math.ceil(dueMs - 0.01),
    owner: owner === null ? undefined : fromText(owner),
    data: data ?? undefined,
    version,
  }));
}

/** All that wait, and those whose time has come. */
export async function countReminders(sql: Sql): Promise<{ pending: number; overdue: number }> {
  const [row] = await sql<{ pending: number; overdue: number }[]>`
    select count(*)::int as pending, (count(*) filter (where due_at < now()))::int as overdue
    from actor_reminders`;
  return row!;
}

const saveStates = groupCommit<Address & { doc: unknown }, void>(async (sql, rows) => {
  await sql`
    insert into actor_states (type, id, doc)
    select type, id, doc::json
    from unnest(${rows.map(({ type }) => toText(type))}::text[], ${rows.map(({ id }) => toText(id))}::text[],
      ${rows.map(({ doc }) => JSON.stringify(doc))}::text[]) as given (type, id, doc)
    order by type collate "C", id collate "C"
    on conflict (type, id) do update set doc = excluded.doc`;
  return rows.map(() => undefined);
});

const loadStates = groupCommit<Address, unknown>(async (sql, rows) => {
  const found = await sql<{ place: number; doc: unknown }[]>`
    select place::int, doc
    from unnest(${rows.map(({ type }) => toText(type))}::text[], ${rows.map(({ id }) => toText(id))}::text[])
    with ordinality as asked (type, id, place)
    join actor_states using (type, id)`;
  const docs: unknown[] = rows.map(() => undefined);
  for (const { place, doc } of found) docs[place - 1] = doc;
  return docs;
});

/**
 * The documents of the actors of the embedded engine. An actor has one turn at a time, so no address is twice in a
 * statement.
 */
export const stateStore = (sql: Database) => ({
  load: (of: Address): Promise<unknown> => loadStates(sql, { type: of.type, id: of.id }),
  save: (of: Address, doc: unknown): Promise<void> => saveStates(sql, { type: of.type, id: of.id, doc }),
});
