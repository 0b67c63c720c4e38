import { type Cache, openStreamSlots, type SlotHolder } from '../../platform/cache/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { type Loop, startLoop } from '../../platform/flow/index.ts';
import { type Clock, newId } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { RunEvent, RunRef } from './contract.ts';
import { type RunEventRow, selectEventsAfter } from './events-store.ts';

/** What other processes write is seen so late. */
const LOOK_MS = 1_000;
const ALIVE_MS = 15_000;
const RIGHTS_MS = 60_000;
/** A slot of a process that is gone is free so late. */
const SLOT_MS = 3 * ALIVE_MS;
/** Of one person, over all runs. */
const MOST_STREAMS = 10;
const MOST_EVENTS = 200;
/** Places of one statement. */
const MOST_PLACES = 100;
const IDLE_MS = 60_000;

/** An open stream of the events of a run. */
interface Reader extends SlotHolder {
  readonly run: RunRef;
  /** The number of the last event that it was told. */
  after: number;
  /** Takes what a look finds; absent while it is told what the one before found. */
  take: ((found: readonly RunEventRow[]) => void) | undefined;
}

interface ReadersOptions {
  sql: Database;
  cache: Pick<Cache, 'claim' | 'delete'>;
  clock: Clock;
  log: Pick<Log, 'warn'>;
}

/** Those who read the events of runs in this process. Disposing of it ends them. */
export type Readers = ReturnType<typeof openReaders>;

/** Tells readers what the database says of their runs: one look for all of this process, however many they are. */
export function openReaders({ sql, cache, clock, log }: ReadersOptions) {
  const readers = new Set<Reader>();
  /** To be looked for now: what they read was written, or there is more than one look brings. */
  const changed = new Set<Reader>();
  const ending = new AbortController();
  const slots = openStreamSlots(cache, {
    name: 'run-stream',
    most: MOST_STREAMS,
    ttlMs: SLOT_MS,
    refusal: `You follow runs ${MOST_STREAMS} times already: close a page`,
  });
  let everyAt = 0;
  let renewAt = 0;
  let loop: Loop | undefined;

  async function round(): Promise<number> {
    const now = clock.monotonic();
    const isEvery = now >= everyAt;
    if (isEvery) everyAt = now + LOOK_MS;
    if (now >= renewAt) {
      renewAt = now + ALIVE_MS;
      slots.renew([...readers]);
    }
    const places = Map.groupBy(
      [...(isEvery ? readers : changed)].filter(({ take }) => take),
      ({ run, after }) => `${run.orgId} ${run.id} ${after}`,
    );
    const all = [...places.values()];
    for (let n = 0; n < all.length; n += MOST_PLACES) await look(sql, all.slice(n, n + MOST_PLACES), changed);
    return readers.size === 0 ? IDLE_MS : Math.max(0, everyAt - clock.monotonic());
  }

  const start = () =>
    startLoop({
      clock,
      round,
      restMs: LOOK_MS,
      onError: (error) => log.warn({ err: error }, 'events of runs could not be looked for, repeated'),
    });

  return {
    /** Says that something of a run was written in this process. */
    written(runId: string): void {
      let isRead = false;
      for (const reader of readers) {
        if (reader.run.id !== runId) continue;
        changed.add(reader);
        isRead = true;
      }
      if (isRead) loop?.wake();
    },

    /**
     * Follows what happens in a run, after the event of this number; ends with the signal, or when `mayRead`, which is
     * asked every minute, says no.
     * @throws AppError `rate_limited` for who follows as many as a person may, in all processes together
     */
    async *follow(
      { userId, ...run }: RunRef & { userId: string },
      { after, ends, mayRead }: { after: number; ends: AbortSignal; mayRead(): Promise<boolean> },
    ): AsyncGenerator<RunEvent> {
      const reader: Reader = { id: newId(), userId, slot: undefined, run, after, take: undefined };
      const over = AbortSignal.any([ends, ending.signal]);
      readers.add(reader);
      changed.add(reader);
      try {
        await slots.claim(reader, [...readers].filter((one) => one.userId === userId).length);
        loop ??= start();
        let saidAt = clock.monotonic();
        let judgedAt = saidAt;
        while (!over.aborted) {
          if (changed.has(reader)) loop.wake(); // it was passed over while it was told something
          const found = await next(reader, over);
          for (const { n, kind, data, at } of found) {
            reader.after = n;
            yield { n, kind, data, at };
          }
          const now = clock.monotonic();
          if (found.length > 0) saidAt = now;
          else if (!over.aborted && now - saidAt >= ALIVE_MS) {
            saidAt = now;
            yield 'alive';
          }
          if (now - judgedAt < RIGHTS_MS) continue;
          judgedAt = now;
          if (!(await mayRead())) return;
        }
      } finally {
        readers.delete(reader);
        changed.delete(reader);
        slots.release(reader);
      }
    },

    async [Symbol.asyncDispose]() {
      ending.abort();
      await loop?.[Symbol.asyncDispose]();
    },
  };
}

/** Looks once for each place in a run: those who are at the same one share what is found. */
async function look(sql: Database, places: readonly (readonly Reader[])[], changed: Set<Reader>): Promise<void> {
  const some = places.flat();
  some.forEach((reader) => changed.delete(reader)); // before: what is written meanwhile is looked for again
  try {
    const first = places.map(([one]) => one!); // a place has a reader
    const found = Map.groupBy(await selectEventsAfter(sql, first, MOST_EVENTS), ({ place }) => place);
    for (const [n, together] of places.entries())
      for (const reader of together) {
        const events = found.get(n) ?? [];
        if (events.length === MOST_EVENTS) changed.add(reader);
        reader.take?.(events);
      }
  } catch (error) {
    some.forEach((reader) => changed.add(reader));
    throw error;
  }
}

/** What the next look finds for a reader; nothing at the end. */
async function next(reader: Reader, ends: AbortSignal): Promise<readonly RunEventRow[]> {
  if (ends.aborted) return [];
  const { promise, resolve } = Promise.withResolvers<readonly RunEventRow[]>();
  const end = () => resolve([]);
  ends.addEventListener('abort', end);
  reader.take = resolve;
  try {
    return await promise;
  } finally {
    reader.take = undefined;
    ends.removeEventListener('abort', end);
  }
}
