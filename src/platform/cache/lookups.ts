import type { Clock } from '../kernel/index.ts';

/**
 * Look-ups whose answers are good for less than a second, in this process: for what every request asks, and what may be
 * a moment old.
 */
export interface Lookups<Value> {
  /** Rejects as the look-up does. */
  get(key: string): Promise<Value | undefined>;
  /**
   * Forgets a value that changed here, so that it is seen here at once; without a key all of them, and nothing is asked
   * for again by itself.
   */
  forget(key?: string): void;
}

interface Known<Value> {
  /** When the question was asked: what it answers was true then or later. */
  askedAt: number;
  /** When it was last answered from here. */
  usedAt: number;
  value: Promise<Value | undefined>;
  renewing?: boolean;
}

const FRESH_MS = 900;
/**
 * A value that was answered from here within the last seconds is refreshed when it is this old, behind the requests and
 * together with all the rest.
 */
const IN_USE_MS = 2_000;
const RENEW_AFTER_MS = 500;
const LOOK_EVERY_MS = 50;
/** So that no request waits for long behind the answers; what is left has its turn 50 ms later. */
const RENEWED_AT_ONCE = 200;
const REMEMBERED = 20_000;

/** Keys without a value have a memory of their own, so that guessing does not push out the keys in use. */
export function briefLookups<Value>({
  clock,
  look,
}: {
  clock: Clock;
  look: (key: string) => Promise<Value | undefined>;
}): Lookups<Value> {
  const known = new Map<string, Known<Value>>(); // the oldest answers first
  const unknown = new Map<string, Known<Value>>();
  let watching = false;

  const keep = (memory: Map<string, Known<Value>>, key: string, entry: Known<Value>) => {
    memory.delete(key);
    memory.set(key, entry);
    if (memory.size > REMEMBERED) memory.delete(memory.keys().next().value!);
    if (memory === known && !watching) {
      watching = true;
      void watch();
    }
  };
  /** Into the memory that is right for the value, if nothing has happened to the key meanwhile. */
  function remember(
    memory: Map<string, Known<Value>>,
    key: string,
    old: Known<Value>,
    entry: Known<Value>,
    value: Value | undefined,
  ): void {
    const right = value === undefined ? unknown : known;
    if (memory.get(key) !== old || (right === memory && entry === old)) return;
    memory.delete(key);
    keep(right, key, entry);
  }

  function renew(key: string, old: Known<Value>, askedAt: number): void {
    old.renewing = true;
    const entry: Known<Value> = { askedAt, usedAt: old.usedAt, value: look(key) };
    entry.value.then(
      (value) => {
        entry.usedAt = old.usedAt;
        remember(known, key, old, entry, value);
      },
      () => (old.renewing = false), // it grows old, and then the request that asks hears of it
    );
  }
  /** As long as something is known. */
  async function watch(): Promise<void> {
    while (known.size > 0) {
      await clock.sleep(LOOK_EVERY_MS);
      const now = clock.monotonic();
      let renewed = 0;
      for (const [key, entry] of known) {
        const age = now - entry.askedAt;
        if (age < RENEW_AFTER_MS || renewed === RENEWED_AT_ONCE) break;
        if (age >= FRESH_MS && !entry.renewing) known.delete(key);
        else if (!entry.renewing && now - entry.usedAt < IN_USE_MS) {
          renew(key, entry, now);
          renewed += 1;
        }
      }
    }
    watching = false;
  }

  async function ask(key: string, askedAt: number): Promise<Value | undefined> {
    const memory = known.has(key) ? known : unknown;
    const entry: Known<Value> = { askedAt, usedAt: -Infinity, value: look(key) };
    keep(memory, key, entry);
    try {
      const value = await entry.value;
      remember(memory, key, entry, entry, value);
      return value;
    } catch (error) {
      if (memory.get(key) === entry) memory.delete(key); // a database that was away is asked again
      throw error;
    }
  }

  return {
    get(key) {
      const now = clock.monotonic();
      const remembered = known.get(key) ?? unknown.get(key);
      if (!remembered || now - remembered.askedAt >= FRESH_MS) return ask(key, now);
      remembered.usedAt = now;
      return remembered.value;
    },
    forget(key) {
      for (const memory of [known, unknown])
        if (key === undefined) memory.clear();
        else memory.delete(key);
    },
  };
}
