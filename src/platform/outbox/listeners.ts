import type { Bus } from '../actor-runtime/index.ts';
import { type Database, type Fragment, isUnavailable, lease, openLease, type Sql } from '../db/index.ts';
import { type Loop, startLoop } from '../flow/index.ts';
import type { Clock } from '../kernel/index.ts';
import { facts as catalog, type Payload, type Topic } from './facts.ts';
import { renumber } from './renumber.ts';

/** A fact as it is heard. `at`: when it was announced. */
export type Fact<T extends Topic = Topic> = {
  [Name in T]: { id: string; orgId: string; topic: Name; entityId: string; payload: Payload<Name>; at: Date };
}[T];

/**
 * Sends `{ keys }` to a topic of the bus when the listener's transaction is committed. Nothing may depend on its
 * arrival.
 */
export type Wake = (busTopic: string, keys: readonly string[]) => void;

export interface Listener<T extends Topic = Topic> {
  /** Names its cursor and its lease, so it is never changed. */
  name: string;
  topics: readonly T[];
  /** A condition on a fact `o` of these topics: others are passed over and cost nothing but the look. */
  where?: (sql: Sql) => Fragment;
  /**
   * Writes what is to come of the facts, in the transaction that moves the cursor: what is committed is heard once, and
   * in order. What it throws sets a fact aside, after each fact was tried alone.
   */
  hear(sql: Sql, facts: readonly Fact<T>[], wake: Wake): Promise<unknown>;
}
/** Declares a listener; `facts` are those of its topics. */
export const listener = <T extends Topic>(declared: Listener<T>): Listener => declared;

export interface ListenerLog {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

export interface ListenersOptions {
  sql: Database;
  clock: Clock;
  bus: Bus;
  listeners: readonly Listener[];
  /** This start of this process. */
  holder: string;
  log: ListenerLog;
  /** A process that dies is followed after this long. */
  leaseSeconds?: number;
  /** How often a listener looks for facts when nobody wakes it. */
  lookMs?: number;
}

/** The bus topic that wakes the listeners of every process. */
export const OUTBOX_TOPIC = 'outbox';

const BATCH = 500;
const KEYS_PER_MESSAGE = 500;
const WITHOUT_LEASE_MS = 2_000;
const AFTER_FAILURE_MS = 1_000;

/**
 * Starts every listener: each in a loop of its own, one process at a time. Call it before the host starts, as it
 * subscribes to the bus.
 */
export function startListeners({ listeners, ...options }: ListenersOptions): Pick<Loop, 'wake'> & AsyncDisposable {
  const { sql, bus } = options;
  let registered: Promise<unknown> | undefined;
  /** All in one statement: what every cursor is past is deleted, so a cursor that comes later would miss it. */
  const register = () =>
    (registered ??= declareCursors(sql, listeners).catch((error: unknown) => {
      registered = undefined;
      throw error;
    }));
  const loops = listeners.map((one) => startListener(one, { ...options, register }));
  const wake = () => loops.forEach((loop) => loop.wake());
  bus.subscribe(OUTBOX_TOPIC, async () => wake());
  return {
    wake,
    async [Symbol.asyncDispose]() {
      await Promise.all(loops.map((loop) => loop[Symbol.asyncDispose]()));
    },
  };
}

/** Writes the cursors that are not there yet. One that is ahead of the cluster came with a dump. */
async function declareCursors(sql: Database, listeners: readonly Listener[]): Promise<void> {
  const [cursors] = await sql<{ ahead: boolean }[]>`/* all orgs */
    with declared as (
      insert into outbox_cursors (listener)
      select unnest(${listeners.map(({ name }) => name)}::text[])
      on conflict do nothing
    )
    select coalesce(bool_or(greatest(since, until) > pg_snapshot_xmax(pg_current_snapshot())), false) as ahead
    from outbox_cursors`;
  if (cursors!.ahead) await renumber(sql);
}

/**
 * Every fact of transactions below `since` is heard, and of those below `until` the ids up to `id`. Numbers of 64 bits,
 * so they are text here.
 */
interface Cursor {
  since: string;
  until: string;
  id: string;
}
interface Row {
  id: string;
  orgId: string;
  topic: string;
  entityId: string;
  payload: unknown;
  at: Date;
}
/** The facts that a listener hears between two places of its cursor, of `seen` that stand there. */
interface Batch {
  from: Cursor;
  to: Cursor;
  seen: number;
  rows: readonly Row[];
}
interface Looked extends Row {
  since: string;
  until: string;
  after: string;
  floor: string | null;
  seen: number;
  last: string | null;
}
/** The cursor was moved by another process. */
class Superseded extends Error {}

const parsed = ({ topic, payload, ...row }: Row): Fact =>
  ({ ...row, topic, payload: catalog[topic as Topic].parse(payload) }) as Fact;

/** Whether the facts, or the code that hears them, are at fault, and not the database (SQLSTATE 22 and 23: a value). */
const isFactsFault = (error: unknown): boolean => {
  const { code } = Object(error) as { code?: unknown };
  const ofDatabase =
    isUnavailable(error) || (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^2[23]/.test(code));
  return !ofDatabase && !(error instanceof Superseded);
};

type ListenerOptions = Omit<ListenersOptions, 'listeners'> & { register(): Promise<unknown> };

function startListener({ name, topics, where, hear }: Listener, options: ListenerOptions): Loop {
  const { sql, clock, bus, holder, log, register, leaseSeconds = 15, lookMs = 250 } = options;
  const held = { name: `listener ${name}`, holder, seconds: leaseSeconds };
  let hasMoved = true; // there may be facts that everybody has heard
  let hasDeleted = false; // with the last move, but for what another listener passed at that moment
  let deletedBelow = '0';

  /**
   * The next facts by their ids; undefined without the lease. A transaction that still runs may hold a fact with a
   * smaller id than those that are seen. So a look sees those of transactions below every running one, and no later
   * look goes further before they are heard. The order is that of ids: a transaction that waited for a lock of another
   * has the smaller number and the later fact.
   */
  async function look(): Promise<Batch | undefined> {
    const deleting = hasMoved && !hasDeleted;
    const rows = await sql<Looked[]>`/* all orgs */
      with ${lease(sql, held)}, cursor as (
        select since, id, case when until > since then until else pg_snapshot_xmin(pg_current_snapshot()) end as until
        from outbox_cursors
        where listener = ${name}
      ), facts as materialized (
        select o.*
        from cursor c
        cross join lateral (
          select id, org_id, topic, entity_id, payload, created_at
          from outbox
          where txid >= c.since and txid < c.until and id > c.id
          order by id
          limit ${BATCH + 1}
        ) o
      ), page as (
        select count(*)::int as seen, (array_agg(id order by id))[${BATCH + 1}] as beyond,
          (array_agg(id order by id))[${BATCH}] as last
        from facts
      )${deleting ? sql`, ${deleted(sql`outbox_cursors`)}` : sql``}
      select c.since, c.until, c.id as after, ${deleting ? sql`(select since from slowest)` : sql`null`} as floor,
        page.seen, case when page.beyond is not null then page.last end as last,
        o.id, o.org_id as "orgId", o.topic, o.entity_id as "entityId", o.payload, o.created_at as at
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
    hasMoved &&= !deleting;
    deletedBelow = first.floor ?? deletedBelow;
    const { since, until, after, seen, last } = first;
    return {
      from: { since, until, id: after },
      to: last === null ? { since: until, until, id: '0' } : { since, until, id: last },
      seen,
      rows: rows.filter(({ id }: { id: string | null }) => id !== null),
    };
  }

  /**
   * CTEs that delete the facts of transactions which all `cursors` are past; from where the last deletion ended, as
   * rows that a backup still sees are read again.
   */
  const deleted = (cursors: Fragment) => sql`
    slowest as (
      select since
      from ${cursors} cursors
      order by since
      limit 1
    ), deleted as (
      delete from outbox
      where txid >= ${deletedBelow}::xid8
        and txid < (select since from slowest)
    )`;

  const moved = (tx: Sql, from: Cursor, to: Cursor) => tx`
      update outbox_cursors
      set since = ${to.since}, until = ${to.until}, id = ${to.id}
      where listener = ${name}
        and since = ${from.since}
        and id = ${from.id}`;

  /** Moves the cursor, which no other process does until the transaction ends; nothing is heard before it. */
  async function move(tx: Sql, from: Cursor, to: Cursor): Promise<void> {
    const { count } = await tx`/* all orgs */ ${moved(tx, from, to)}`;
    if (count === 0) throw new Superseded();
  }

  /** Moves the cursor past facts that nobody waits for, and deletes what all have heard: both are one commit. */
  async function passOver(from: Cursor, to: Cursor): Promise<void> {
    const [row] = await sql<{ floor: string }[]>`/* all orgs */
      with moved as (${moved(sql, from, to)}
        returning since
      ), ${deleted(sql`(select since from outbox_cursors where listener <> ${name} union all select since from moved)`)}
      select slowest.since as floor from moved cross join slowest`;
    if (!row) throw new Superseded();
    deletedBelow = row.floor;
  }

  async function hearTogether({ from, to, rows }: Omit<Batch, 'seen'>): Promise<void> {
    if (rows.length === 0) return passOver(from, to);
    const keysOf = new Map<string, Set<string>>();
    await sql.begin(async (tx) => {
      await move(tx, from, to);
      await hear(tx, rows.map(parsed), (busTopic, keys) =>
        keysOf.set(busTopic, new Set([...(keysOf.get(busTopic) ?? []), ...keys])),
      );
    });
    for (const [busTopic, keys] of keysOf) await tell(busTopic, [...keys]);
  }

  /** Each fact in a transaction of its own; what cannot be heard is set aside for this listener. */
  async function hearOneByOne({ from, to, rows }: Omit<Batch, 'seen'>): Promise<void> {
    let at = from;
    for (const [n, row] of rows.entries()) {
      const next = n === rows.length - 1 ? to : { ...from, id: row.id };
      try {
        await hearTogether({ from: at, to: next, rows: [row] });
      } catch (error) {
        if (!isFactsFault(error)) throw error;
        log.error(
          { listener: name, outboxId: row.id, topic: row.topic, err: error },
          'a fact cannot be heard and is set aside',
        );
        await setAside(row, at, next, String(error));
      }
      at = next;
    }
  }

  const setAside = ({ id, orgId, topic, entityId, payload, at }: Row, from: Cursor, to: Cursor, error: string) =>
    sql.begin(async (tx) => {
      await move(tx, from, to);
      await tx`
        insert into outbox_refused (listener, id, org_id, topic, entity_id, payload, created_at, error)
        values (${name}, ${id}, ${orgId}, ${topic}, ${entityId}, ${JSON.stringify(payload)}::text::jsonb, ${at},
          ${error})`;
    });

  /** A wake-up that is lost is a delay: whoever is woken looks by itself as well. */
  async function tell(busTopic: string, keys: readonly string[]): Promise<void> {
    const messages = Array.from({ length: Math.ceil(keys.length / KEYS_PER_MESSAGE) }, (_, n) => ({
      keys: keys.slice(n * KEYS_PER_MESSAGE, (n + 1) * KEYS_PER_MESSAGE),
    }));
    if (messages.length > 0)
      await bus
        .publish(busTopic, messages)
        .catch((error: unknown) => log.warn({ topic: busTopic, err: error }, 'wake-ups of a listener were not sent'));
  }

  async function round(): Promise<number> {
    await register();
    const batch = await look();
    if (!batch) return WITHOUT_LEASE_MS;
    hasDeleted = batch.seen > 0 && batch.rows.length === 0;
    if (batch.seen === 0) return lookMs;
    hasMoved = true;
    try {
      await hearTogether(batch);
    } catch (error) {
      if (!isFactsFault(error)) throw error;
      await hearOneByOne(batch);
    }
    return 0;
  }

  return startLoop({
    clock,
    round,
    restMs: lookMs,
    onError(error) {
      if (error instanceof Superseded) return 0;
      log.error({ listener: name, err: error }, 'facts could not be heard, trying again');
      return AFTER_FAILURE_MS;
    },
    lease: openLease({ ...held, sql }),
  });
}
