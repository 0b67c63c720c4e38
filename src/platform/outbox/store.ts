import { type Database, type Fragment, lease, type LeaseOptions, oldestRunning, type Sql } from '../db/index.ts';
import { renumber } from './renumber.ts';

/** The facts that one look sees; of one more it is only learned that it is there. */
const BATCH = 500;

/**
 * Every fact of transactions below `since` is heard, and of those below `until` the ids up to `id`. Numbers of 64 bits,
 * so they are text here.
 */
export interface Cursor {
  since: string;
  until: string;
  id: string;
}
export interface FactRow {
  id: string;
  orgId: string;
  topic: string;
  entityId: string;
  payload: unknown;
  at: Date;
}
/** The facts that a listener hears between two places of its cursor, of `seen` that stand there. */
export interface Batch {
  from: Cursor;
  to: Cursor;
  seen: number;
  rows: readonly FactRow[];
  /** There are facts that this look may not see, as a transaction that began before them still runs. */
  isBehind: boolean;
  /** What every cursor is past, when the look has deleted it. */
  deletedBelow: string | undefined;
}
interface Looked extends FactRow {
  since: string;
  until: string;
  after: string;
  floor: string | null;
  seen: number;
  isBehind: boolean;
  last: string | null;
}
interface Look {
  name: string;
  topics: readonly string[];
  where: ((sql: Sql) => Fragment) | undefined;
  held: Omit<LeaseOptions, 'sql'>;
  /** What all have heard is deleted from here on; undefined: nothing is. */
  deleteFrom: string | undefined;
}
/** The cursor was moved by another process. */
export class Superseded extends Error {}

/**
 * Writes the cursors that are not there yet, and ends those of listeners that are off. One that is ahead of the cluster
 * came with a dump.
 */
export async function declareCursors(sql: Database, names: readonly string[], off: readonly string[]): Promise<void> {
  const [cursors] = await sql<{ ahead: boolean }[]>`/* all orgs */
    with declared as (
      insert into outbox_cursors (listener)
      select unnest(${names}::text[])
      on conflict do nothing
    ), ended as (
      delete from outbox_cursors
      where listener = any(${off}::text[])
    )
    select coalesce(bool_or(greatest(since, until) > pg_snapshot_xmax(pg_current_snapshot())), false) as ahead
    from outbox_cursors`;
  if (cursors!.ahead) await renumber(sql);
}

/** CTEs: the cursor, the facts behind it of every topic, and how many of them there are. */
const page = (sql: Sql, name: string) => sql`
  cursor as (
    select since, id, case when until > since then until else ${oldestRunning(sql)} end as until
    from outbox_cursors
    where listener = ${name}
  ), facts as materialized (
    select o.*
    from cursor c
    cross join lateral (
      select id, org_id, topic, entity_id, payload, created_at
      from outbox
      where txid >= c.since
        and txid < c.until
        and id > c.id
      order by id
      limit ${BATCH + 1}
    ) o
  ), page as (
    select
      count(*)::int as seen,
      (array_agg(id order by id))[${BATCH + 1}] as beyond,
      (array_agg(id order by id))[${BATCH}] as last
    from facts
  )`;

/**
 * CTEs that delete the facts of transactions which all `cursors` are past; from where the last deletion ended, as rows
 * that a backup still sees are read again.
 */
const deleted = (sql: Sql, from: string, cursors: Fragment) => sql`
  slowest as (
    select since
    from ${cursors} cursors
    order by since
    limit 1
  ), deleted as (
    delete from outbox
    where txid >= ${from}::xid8
      and txid < (select since from slowest)
  )`;

/**
 * The next facts by their ids; undefined without the lease. A transaction that still runs may hold a fact with a
 * smaller id than those that are seen. So a look sees those of transactions below every running one, and no later look
 * goes further before they are heard. The order is that of ids: a transaction that waited for a lock of another has the
 * smaller number and the later fact.
 */
export async function findBatch(
  sql: Database,
  { name, topics, where, held, deleteFrom }: Look,
): Promise<Batch | undefined> {
  const deletes = deleteFrom !== undefined;
  const rows = await sql<Looked[]>`/* all orgs */
    with ${lease(sql, held)}, ${page(sql, name)}${
      deletes ? sql`, ${deleted(sql, deleteFrom, sql`outbox_cursors`)}` : sql``
    }
    select
      c.since,
      c.until,
      c.id as after,
      ${deletes ? sql`(select since from slowest)` : sql`null`} as floor,
      page.seen,
      exists (select from outbox where txid >= (select until from cursor)) as "isBehind",
      case when page.beyond is not null then page.last end as last,
      o.id,
      o.org_id as "orgId",
      o.topic,
      o.entity_id as "entityId",
      o.payload,
      o.created_at as at
    from lease
    cross join cursor c
    cross join page
    left join facts o
      on o.topic = any(${topics})
      and (page.beyond is null or o.id < page.beyond)
      and ${where?.(sql) ?? sql`true`}
    order by o.id`;
  const [first] = rows;
  if (!first) return undefined;
  const { since, until, after, floor, seen, last, isBehind } = first;
  return {
    from: { since, until, id: after },
    to: last === null ? { since: until, until, id: '0' } : { since, until, id: last },
    seen,
    isBehind,
    rows: rows.filter(({ id }: { id: string | null }) => id !== null),
    deletedBelow: floor ?? undefined,
  };
}

const moved = (sql: Sql, name: string, from: Cursor, to: Cursor) => sql`
  update outbox_cursors
  set since = ${to.since}, until = ${to.until}, id = ${to.id}
  where listener = ${name}
    and since = ${from.since}
    and id = ${from.id}`;

/** Moves the cursor, which no other process does until the transaction ends; nothing is heard before it. */
export async function moveCursor(tx: Sql, name: string, from: Cursor, to: Cursor): Promise<void> {
  const { count } = await tx`/* all orgs */ ${moved(tx, name, from, to)}`;
  if (count === 0) throw new Superseded();
}

/**
 * Moves the cursor past facts that nobody waits for, and deletes what all have heard: both are one commit. Answers what
 * was deleted.
 */
export async function passOver(sql: Sql, name: string, from: Cursor, to: Cursor, deleteFrom: string): Promise<string> {
  const cursors = sql`(select since from outbox_cursors where listener <> ${name} union all select since from moved)`;
  const [row] = await sql<{ floor: string }[]>`/* all orgs */
    with moved as (
      ${moved(sql, name, from, to)}
      returning since
    ), ${deleted(sql, deleteFrom, cursors)}
    select slowest.since as floor
    from moved
    cross join slowest`;
  if (!row) throw new Superseded();
  return row.floor;
}

/** Moves the cursor past a fact that the listener cannot hear, which is kept for people. */
export const setAside = (
  sql: Database,
  name: string,
  { id, orgId, topic, entityId, payload, at }: FactRow,
  { from, to, error }: { from: Cursor; to: Cursor; error: string },
) =>
  sql.begin(async (tx) => {
    await moveCursor(tx, name, from, to);
    await tx`
      insert into outbox_refused (listener, id, org_id, topic, entity_id, payload, created_at, error)
      values (${name}, ${id}, ${orgId}, ${topic}, ${entityId}, ${JSON.stringify(payload)}::text::jsonb, ${at},
        ${error})`;
  });
