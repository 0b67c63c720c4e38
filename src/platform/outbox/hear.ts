import type { Bus } from '../actor-runtime/index.ts';
import { type Database, isUnavailable } from '../db/index.ts';
import { facts as catalog } from './facts.ts';
import type { Fact, Listener } from './listener.ts';
import { type Batch, type FactRow, moveCursor, passOver, setAside, Superseded } from './store.ts';

const KEYS_PER_MESSAGE = 500;

export interface ListenerLog {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** A listener that hears, and what it does so with. */
export interface Hearing {
  readonly listener: Listener;
  readonly sql: Database;
  readonly bus: Pick<Bus, 'publish'>;
  readonly log: ListenerLog;
  readonly ending: AbortSignal;
  /** What every cursor is past is deleted up to here. */
  deletedBelow: string;
}

/** Of each topic; what a process of a newer release says beyond it is passed over. */
const readers = new Map(Object.entries(catalog).map(([topic, schema]) => [topic, schema.strip()]));

/** A fact as listeners hear it; throws for one that its topic does not describe. */
export const parsedFact = ({ topic, payload, ...row }: FactRow): Fact =>
  ({ ...row, topic, payload: readers.get(topic)!.parse(payload) }) as Fact;

/** Others could not be told; the database and the facts are not at fault. */
class NotTold extends Error {}

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

/** Has a batch heard; what cannot be heard for its own fault is set aside. */
export async function hearBatch(hearing: Hearing, batch: Heard): Promise<void> {
  try {
    await hearTogether(hearing, batch);
  } catch (error) {
    if (!isFactsFault(error)) throw error;
    await hearOneByOne(hearing, batch);
  }
}

type Heard = Pick<Batch, 'from' | 'to' | 'rows'>;

/** Has a batch heard in one transaction with the move of the cursor. */
async function hearTogether(hearing: Hearing, { from, to, rows }: Heard): Promise<void> {
  const { sql, ending, listener: listening } = hearing;
  const { name } = listening;
  if (rows.length === 0) {
    hearing.deletedBelow = await passOver(sql, name, from, to, hearing.deletedBelow);
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
  for (const [busTopic, keys] of keysOf) await tell(hearing, busTopic, [...keys]);
  for (const act of acts)
    await act().catch((error: unknown) => hearing.log.warn({ listener: name, err: error }, 'an announcement was lost'));
}

/** Each fact in a transaction of its own; what cannot be heard is set aside for this listener. */
async function hearOneByOne(hearing: Hearing, { from, to, rows }: Heard): Promise<void> {
  const {
    sql,
    log,
    listener: { name },
  } = hearing;
  let at = from;
  for (const [n, row] of rows.entries()) {
    const next = n === rows.length - 1 ? to : { ...from, id: row.id };
    try {
      await hearTogether(hearing, { from: at, to: next, rows: [row] });
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
async function tell({ bus, log }: Hearing, busTopic: string, keys: readonly string[]): Promise<void> {
  const messages = Array.from({ length: Math.ceil(keys.length / KEYS_PER_MESSAGE) }, (_, n) => ({
    keys: keys.slice(n * KEYS_PER_MESSAGE, (n + 1) * KEYS_PER_MESSAGE),
  }));
  if (messages.length > 0)
    await bus
      .publish(busTopic, messages)
      .catch((error: unknown) => log.warn({ topic: busTopic, err: error }, 'wake-ups of a listener were not sent'));
}
