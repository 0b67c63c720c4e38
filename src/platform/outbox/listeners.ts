import type { Bus } from '../actor-runtime/index.ts';
import { type Database, type Fragment, isUnavailable, openLease, type Sql } from '../db/index.ts';
import { type Loop, startLoop } from '../flow/index.ts';
import type { Clock } from '../kernel/index.ts';
import { facts as catalog, type Payload, type Topic } from './facts.ts';
import {
  type Batch,
  declareCursors,
  type FactRow,
  findBatch,
  moveCursor,
  passOver,
  setAside,
  Superseded,
} from './store.ts';

/** A fact as it is heard. `at`: when it was announced. */
export type Fact<T extends Topic = Topic> = {
  [Name in T]: { id: string; orgId: string; topic: Name; entityId: string; payload: Payload<Name>; at: Date };
}[T];

/**
 * Sends `{ keys }` to a topic of the bus when the listener's transaction is committed. Nothing may depend on its
 * arrival.
 */
export type Wake = (busTopic: string, keys: readonly string[]) => void;

/** Has something done when the listener's transaction is committed, of which the same holds. */
export type AfterCommit = (act: () => Promise<unknown>) => void;

export interface Listener<T extends Topic = Topic> {
  /** Names its cursor and its lease, so it is never changed. */
  name: string;
  topics: readonly T[];
  /** How often it looks for facts; default 250 ms. */
  lookMs?: number;
  /** A condition on a fact `o` of these topics: others are passed over and cost nothing but the look. */
  where?: (sql: Sql) => Fragment;
  /**
   * Writes what is to come of the facts, in the transaction that moves the cursor: what is committed is heard once, and
   * in order. What it throws sets a fact aside, after each fact was tried alone.
   */
  hear(sql: Sql, facts: readonly Fact<T>[], wake: Wake, afterCommit: AfterCommit): Promise<unknown>;
  /**
   * Tells others of the facts, outside of the database and before that transaction begins, so that nobody waits for
   * them in it: at least once. What it throws sets no fact aside; all of it is told again. `ending`: this process does
   * not wait for it any longer.
   */
  tell?(facts: readonly Fact<T>[], ending?: AbortSignal): Promise<unknown>;
  /** Of a listener that a setting turns on. While it is off it has no cursor, as facts are kept for the slowest one. */
  isOff?: boolean;
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
  bus: Pick<Bus, 'publish'>;
  listeners: readonly Listener[];
  /** This start of this process. */
  holder: string;
  log: ListenerLog;
  /** A process that dies is followed after this long. */
  leaseSeconds?: number;
  /** How often every listener looks for facts, in the place of its own. */
  lookMs?: number;
}

const KEYS_PER_MESSAGE = 500;
const WITHOUT_LEASE_MS = 2_000;
const AFTER_FAILURE_MS = 1_000;

/**
 * Starts every listener: each in a loop of its own, one process at a time. It finds facts by looking: to be told of
 * each commit would cost a message for each, which a bus gives to any of the processes and not to the one that listens.
 */
export function startListeners({ listeners: all, ...options }: ListenersOptions): Pick<Loop, 'wake'> & AsyncDisposable {
  const { sql } = options;
  const listeners = all.filter(({ isOff }) => !isOff);
  const off = all.filter(({ isOff }) => isOff).map(({ name }) => name);
  let registered: Promise<unknown> | undefined;
  /** All in one statement: what every cursor is past is deleted, so a cursor that comes later would miss it. */
  const register = () =>
    (registered ??= declareCursors(
      sql,
      listeners.map(({ name }) => name),
      off,
    ).catch((error: unknown) => {
      registered = undefined;
      throw error;
    }));
  const registerAgain = () => {
    registered = undefined;
    return register();
  };
  const ending = new AbortController();
  const { signal } = ending;
  const loops = listeners.map((one) => startListener(one, { ...options, register, registerAgain, ending: signal }));
  return {
    wake: () => loops.forEach((loop) => loop.wake()),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all(loops.map((loop) => loop[Symbol.asyncDispose]()));
    },
  };
}

/** Of each topic; what a process of a newer release says beyond it is passed over. */
const readers = new Map(Object.entries(catalog).map(([topic, schema]) => [topic, schema.strip()]));

/** A fact as listeners hear it; throws for one that its topic does not describe. */
export const parsedFact = ({ topic, payload, ...row }: FactRow): Fact =>
  ({ ...row, topic, payload: readers.get(topic)!.parse(payload) }) as Fact;

/**
 * Whether the facts, or the code that hears them, are at fault, and not the database (SQLSTATE 22 and 23: a value, 54:
 * more than a row, an index or a statement can hold).
 */
const isFactsFault = (error: unknown): boolean => {
  const { code } = Object(error) as { code?: unknown };
  const ofDatabase =
    isUnavailable(error) || (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(2[23]|54)/.test(code));
  return !ofDatabase && !(error instanceof Superseded) && !(error instanceof NotTold);
};

type ListenerOptions = Omit<ListenersOptions, 'listeners'> & {
  register(): Promise<unknown>;
  registerAgain(): Promise<unknown>;
  ending: AbortSignal;
};

/** Others could not be told; the database and the facts are not at fault. */
class NotTold extends Error {}

/** One listener in this process. */
interface Reader extends ListenerOptions {
  readonly listener: Listener;
  readonly held: { name: string; holder: string; seconds: number };
  readonly lookMs: number;
  /** There may be facts that everybody has heard. */
  hasMoved: boolean;
  /** With the last move, but for what another listener passed at that moment. */
  hasDeleted: boolean;
  deletedBelow: string;
}

function startListener(listening: Listener, options: ListenerOptions): Loop {
  const { sql, clock, holder, log, leaseSeconds = 15 } = options;
  const { name } = listening;
  const lookMs = options.lookMs ?? listening.lookMs ?? 250;
  const reader: Reader = {
    ...options,
    listener: listening,
    held: { name: `listener ${name}`, holder, seconds: leaseSeconds },
    lookMs,
    hasMoved: true,
    hasDeleted: false,
    deletedBelow: '0',
  };
  return startLoop({
    clock,
    round: () => round(reader),
    restMs: lookMs,
    onError(error) {
      if (error instanceof Superseded) return 0;
      log.error({ listener: name, err: error }, 'facts could not be heard, trying again');
      return AFTER_FAILURE_MS;
    },
    lease: openLease({ ...reader.held, sql }),
  });
}

/** Hears what the next look finds. Answers how long to rest. */
async function round(reader: Reader): Promise<number> {
  await reader.register();
  const batch = await look(reader);
  if (!batch) {
    // a process in which it is off may have ended its cursor
    if (reader.listener.isOff !== undefined) await reader.registerAgain();
    return WITHOUT_LEASE_MS;
  }
  reader.hasDeleted = batch.seen > 0 && batch.rows.length === 0;
  if (batch.seen === 0) return reader.lookMs;
  reader.hasMoved = true;
  try {
    await hearTogether(reader, batch);
  } catch (error) {
    if (!isFactsFault(error)) throw error;
    await hearOneByOne(reader, batch);
  }
  return 0;
}

async function look(reader: Reader): Promise<Batch | undefined> {
  const { sql, listener: listening, held, deletedBelow } = reader;
  const { name, topics, where } = listening;
  const deletes = reader.hasMoved && !reader.hasDeleted;
  const batch = await findBatch(sql, { name, topics, where, held, deleteFrom: deletes ? deletedBelow : undefined });
  if (!batch) return undefined;
  reader.hasMoved &&= !deletes;
  reader.deletedBelow = batch.deletedBelow ?? deletedBelow;
  return batch;
}

type Heard = Pick<Batch, 'from' | 'to' | 'rows'>;

async function hearTogether(reader: Reader, { from, to, rows }: Heard): Promise<void> {
  const { sql, ending, listener: listening } = reader;
  const { name } = listening;
  if (rows.length === 0) {
    reader.deletedBelow = await passOver(sql, name, from, to, reader.deletedBelow);
    return;
  }
  const keysOf = new Map<string, Set<string>>();
  const acts: (() => Promise<unknown>)[] = [];
  const facts = rows.map(parsedFact);
  await listening.tell?.(facts, ending).catch((cause: unknown) => {
    throw new NotTold(`Others could not be told of ${facts.length} facts`, { cause });
  });
  await sql.begin(async (tx) => {
    await moveCursor(tx, name, from, to);
    await listening.hear(
      tx,
      facts,
      (busTopic, keys) => keysOf.set(busTopic, new Set([...(keysOf.get(busTopic) ?? []), ...keys])),
      (act) => acts.push(act),
    );
  });
  for (const [busTopic, keys] of keysOf) await tell(reader, busTopic, [...keys]);
  for (const act of acts)
    await act().catch((error: unknown) => reader.log.warn({ listener: name, err: error }, 'an announcement was lost'));
}

/** Each fact in a transaction of its own; what cannot be heard is set aside for this listener. */
async function hearOneByOne(reader: Reader, { from, to, rows }: Heard): Promise<void> {
  const {
    sql,
    log,
    listener: { name },
  } = reader;
  let at = from;
  for (const [n, row] of rows.entries()) {
    const next = n === rows.length - 1 ? to : { ...from, id: row.id };
    try {
      await hearTogether(reader, { from: at, to: next, rows: [row] });
    } catch (error) {
      if (!isFactsFault(error)) throw error;
      log.error(
        { listener: name, outboxId: row.id, topic: row.topic, err: error },
        'a fact cannot be heard and is set aside',
      );
      await setAside(sql, name, row, { from: at, to: next, error: String(error) });
    }
    at = next;
  }
}

/** A wake-up that is lost is a delay: whoever is woken looks by itself as well. */
async function tell({ bus, log }: Reader, busTopic: string, keys: readonly string[]): Promise<void> {
  const messages = Array.from({ length: Math.ceil(keys.length / KEYS_PER_MESSAGE) }, (_, n) => ({
    keys: keys.slice(n * KEYS_PER_MESSAGE, (n + 1) * KEYS_PER_MESSAGE),
  }));
  if (messages.length > 0)
    await bus
      .publish(busTopic, messages)
      .catch((error: unknown) => log.warn({ topic: busTopic, err: error }, 'wake-ups of a listener were not sent'));
}
