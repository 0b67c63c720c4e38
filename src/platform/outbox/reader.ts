import { openLease } from '../db/index.ts';
import { type Loop, startLoop } from '../flow/index.ts';
import type { Clock } from '../kernel/index.ts';
import { hearBatch, type Hearing } from './hear.ts';
import type { Listener } from './listener.ts';
import { openRest, type Rest, steadyRest } from './rest.ts';
import { type Batch, findBatch, Superseded } from './store.ts';

const WITHOUT_LEASE_MS = 2_000;
const AFTER_FAILURE_MS = 1_000;

interface ReaderOptions extends Pick<Hearing, 'sql' | 'bus' | 'log' | 'ending'> {
  clock: Clock;
  holder: string;
  leaseSeconds?: number;
  lookMs?: number;
  quietMs?: number | undefined;
  /** Writes the cursors of all listeners, once; the other one once more. */
  register(): Promise<unknown>;
  registerAgain(): Promise<unknown>;
}

/** One listener in this process. */
interface Reader extends Hearing, Pick<ReaderOptions, 'register' | 'registerAgain'> {
  readonly held: { name: string; holder: string; seconds: number };
  /** There may be facts that everybody has heard. */
  hasMoved: boolean;
  /** With the last move, but for what another listener passed at that moment. */
  hasDeleted: boolean;
  readonly rest: Rest;
}

/** Starts the loop of one listener in this process. */
export function startReader(listening: Listener, options: ReaderOptions): Loop {
  const { sql, clock, holder, log, leaseSeconds = 15, quietMs } = options;
  const { name } = listening;
  const lookMs = options.lookMs ?? listening.lookMs ?? 250;
  const reader: Reader = {
    ...options,
    listener: listening,
    held: { name: `listener ${name}`, holder, seconds: leaseSeconds },
    rest:
      quietMs === undefined ? steadyRest(lookMs) : openRest({ sql, clock, lookMs, quietMs, wake: () => loop.wake() }),
    hasMoved: true,
    hasDeleted: false,
    deletedBelow: '0',
  };
  const loop = startLoop({
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
  return loop;
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
  if (batch.seen === 0) return reader.rest.after(batch.isBehind);
  reader.rest.heard();
  reader.hasMoved = true;
  await hearBatch(reader, batch);
  return 0;
}

async function look(reader: Reader): Promise<Batch | undefined> {
  const { sql, listener: listening, held, deletedBelow } = reader;
  const { name, topics, where } = listening;
  reader.rest.begin();
  const deletes = reader.hasMoved && !reader.hasDeleted;
  const batch = await findBatch(sql, { name, topics, where, held, deleteFrom: deletes ? deletedBelow : undefined });
  if (!batch) return undefined;
  reader.hasMoved &&= !deletes;
  reader.deletedBelow = batch.deletedBelow ?? deletedBelow;
  return batch;
}
