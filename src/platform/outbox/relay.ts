import { type Bus } from '../actor-runtime/index.ts';
import { type Database, type Fragment, lease, type Sql } from '../db/index.ts';
import type { Clock } from '../kernel/index.ts';

/**
 * Who hears of facts. `write` answers CTEs for the statement that deletes the rows: they read `gone (id, org_id, topic,
 * entity_id, payload, created_at)`, write what must not be lost, and the last one is called `<name>_written` and has a text
 * column `wake`: whom to wake when it is committed.
 */
export interface Consumer {
  /** Lower-case letters; the prefix of its CTEs. */
  name: string;
  write(sql: Sql): Fragment;
  /** Where the wake-ups go, as `{ keys }`. Nothing depends on one arriving. */
  topic: string;
}

export interface Log {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

export interface RelayOptions {
  sql: Database;
  clock: Clock;
  bus: Bus;
  consumers: readonly [Consumer, ...Consumer[]];
  /** This start of this process. */
  holder: string;
  log: Log;
  /** A process that dies is followed after this long. */
  leaseSeconds?: number;
  /** How often the outbox is looked at when nobody wakes the relay. */
  sweepMs?: number;
}
export interface Relay extends AsyncDisposable {
  /** There may be new rows: look now. */
  wake(): void;
}

/** The bus topic that wakes every relay which hears of it. */
export const OUTBOX_TOPIC = 'outbox';
interface Written {
  consumer: string;
  wake: string;
}

const BATCH = 500;
const KEYS_PER_MESSAGE = 500;
const WITHOUT_LEASE_MS = 2_000;
const AFTER_FAILURE_MS = 1_000;
/** Between two looks at the whole outbox. */
const WHOLE_MS = 5_000;
/** SQLSTATE 22 and 23: something in a row is at fault, and will be again. */
const isDataError = (error: unknown) => /^2[23]/.test(String((Object(error) as { code?: unknown }).code));

/** Deals out the outbox: one relay over all processes, in the order of the rows, two statements for up to 500 of them. Start it before the host, as it subscribes to the bus. */
export function startRelay({ sql, clock, bus, consumers, holder, log, leaseSeconds = 15, sweepMs = 250 }: RelayOptions): Relay {
  const ended = new AbortController();
  let waiting: AbortController | undefined;
  let woken = false;
  // While a long transaction runs, a backup for one, the server keeps the rows that were deleted and reads them at each look. So a look
  // begins behind what was dealt out before the last but one look at the whole outbox; such a look finds what was committed later than that.
  let behind = 0;
  let behindNext = 0;
  let greatest = 0;
  let wholeAt = -Infinity;

  const wake = () => {
    woken = true;
    waiting?.abort();
  };
  bus.subscribe(OUTBOX_TOPIC, async () => wake());

  /** The ids of the next rows in order; undefined without the lease. */
  async function read(): Promise<string[] | undefined> {
    const now = clock.monotonic();
    const whole = now - wholeAt >= WHOLE_MS;
    const rows = await sql<{ id: string | null }[]>`/* all orgs */
      with ${lease(sql, { name: 'outbox', holder, seconds: leaseSeconds })}
      select o.id from lease left join lateral (
        select id from outbox where refused is null and id > ${whole ? 0 : behind}::bigint order by id limit ${BATCH}
      ) o on true order by o.id`;
    if (rows.length === 0) return undefined;
    if (whole) [behind, behindNext, wholeAt] = [behindNext, greatest, now];
    return rows.flatMap(({ id }) => id ?? []);
  }

  /** Deletes rows and writes what consumers make of them, in one statement: each row is dealt out once, whoever else is at work. */
  const deal = (ids: readonly string[]) => {
    const [first, ...more] = consumers;
    const written = ({ name }: Consumer) => sql`select ${name}::text as consumer, wake from ${sql(`${name}_written`)} group by wake`;
    return sql<Written[]>`/* all orgs */
      with gone as (
        delete from outbox where id = any(${ids}::bigint[]) returning id, org_id, topic, entity_id, payload, created_at
      ), ${more.reduce((all, consumer) => sql`${all}, ${consumer.write(sql)}`, first.write(sql))}
      ${more.reduce((all, consumer) => sql`${all} union all ${written(consumer)}`, written(first))}`;
  };

  async function dealOut(ids: readonly string[]): Promise<readonly Written[]> {
    try {
      return await deal(ids);
    } catch (error) {
      if (!isDataError(error)) throw error;
      if (ids.length > 1) {
        const written = [];
        for (const id of ids) written.push(...(await dealOut([id])));
        return written;
      }
      log.error({ outboxId: ids[0], err: error }, 'An outbox row cannot be dealt out and is set aside');
      await sql`/* all orgs */ update outbox set refused = ${String(error)} where id = any(${ids}::bigint[])`;
      return [];
    }
  }

  /** Tells whoever got something. A wake-up that is lost is a delay: the reconciler finds the rows. */
  async function tell(written: readonly Written[]): Promise<void> {
    for (const { name, topic } of consumers) {
      const keys = written.filter(({ consumer }) => consumer === name).map((row) => row.wake);
      const messages = Array.from({ length: Math.ceil(keys.length / KEYS_PER_MESSAGE) }, (_, n) => ({
        keys: keys.slice(n * KEYS_PER_MESSAGE, (n + 1) * KEYS_PER_MESSAGE),
      }));
      if (messages.length > 0)
        await bus.publish(topic, messages).catch((error: unknown) => log.warn({ topic, err: error }, 'Wake-ups of the outbox were not sent'));
    }
  }

  /** How long to rest. */
  async function round(): Promise<number> {
    try {
      const ids = await read();
      if (!ids) return WITHOUT_LEASE_MS;
      if (ids.length === 0) return sweepMs;
      const written = await dealOut(ids);
      greatest = Math.max(greatest, Number(ids.at(-1)));
      await tell(written);
      return 0;
    } catch (error) {
      if (!ended.signal.aborted) log.error({ err: error }, 'The outbox could not be dealt out, trying again');
      return AFTER_FAILURE_MS;
    }
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      woken = false;
      const rest = await round();
      if (rest === 0 || ended.signal.aborted || (woken && rest !== AFTER_FAILURE_MS)) continue;
      waiting = new AbortController();
      await clock.sleep(rest, waiting.signal).catch(() => undefined);
      waiting = undefined;
    }
  }
  const running = run();

  return {
    wake,
    async [Symbol.asyncDispose]() {
      ended.abort();
      waiting?.abort();
      await running;
      await sql`delete from leases where name = 'outbox' and holder = ${holder}`.catch(() => undefined); // it expires anyway
    },
  };
}
