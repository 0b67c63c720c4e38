import type { Clock } from '../kernel/index.ts';
import { windowLimiter } from './limiter.ts';
import type { Cache, CacheOptions } from './port.ts';

const MAX_VALUES = 100_000;

/** The cache of one process: nothing to install, nothing shared. */
export function openMemoryCache(clock: Clock, { onHandlerError = () => {} }: CacheOptions = {}): Cache {
  const values = new Map<string, { value: string; endsAt: number }>();
  const handlers = new Map<string, Set<(message: string) => void>>();
  const hitAll = windowLimiter(clock);
  const now = () => clock.now().getTime();

  function makeRoom(): void {
    for (const [key, { endsAt }] of values) if (endsAt <= now()) values.delete(key);
    for (const key of values.keys()) {
      if (values.size < MAX_VALUES) break;
      values.delete(key);
    }
  }

  function valueOf(key: string): string | undefined {
    const held = values.get(key);
    return held && held.endsAt > now() ? held.value : undefined;
  }
  function keep(key: string, value: string, ttlMs: number): void {
    if (values.size >= MAX_VALUES) makeRoom();
    values.delete(key);
    values.set(key, { value, endsAt: now() + ttlMs });
  }

  return {
    kind: 'memory',
    get: async (key) => valueOf(key),
    set: async (key, value, ttlMs) => keep(key, value, ttlMs),
    async delete(key) {
      values.delete(key);
    },
    async publish(channel, message) {
      // Later, as over a wire: a publisher never runs inside its own listener.
      setImmediate(() => {
        for (const handler of handlers.get(channel) ?? [])
          try {
            handler(message);
          } catch (error) {
            onHandlerError(channel, error);
          }
      });
      return handlers.has(channel) ? 1 : 0;
    },
    async subscribe(channel, handler) {
      const own = (message: string) => handler(message); // the same function may be subscribed twice
      const all = handlers.get(channel) ?? new Set();
      handlers.set(channel, all.add(own));
      return {
        async [Symbol.asyncDispose]() {
          all.delete(own);
          if (all.size === 0 && handlers.get(channel) === all) handlers.delete(channel);
        },
      };
    },
    async claim(key, holder, ttlMs) {
      if ((valueOf(key) ?? holder) !== holder) return false;
      keep(key, holder, ttlMs);
      return true;
    },
    hit: async (bucket, limit, windowMs) => hitAll([{ bucket, limit, windowMs }])[0]!,
    hitAll: async (buckets) => hitAll(buckets),
    async ping() {},
    health: () => ({ limitsShared: true, awaySince: undefined }),
    async [Symbol.asyncDispose]() {
      values.clear();
      handlers.clear();
    },
  };
}
