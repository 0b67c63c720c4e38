import { Redis } from 'ioredis';
import { AppError, type Clock } from '../kernel/index.ts';
import { windowLimiter } from './limiter.ts';
import type { Cache, CacheOptions, Hit } from './port.ts';

/** One exchange per request: counts, and starts the window with the first one. Answers the count and what is left of the window. */
const HIT = `
local count = redis.call('incr', KEYS[1])
local left = redis.call('pttl', KEYS[1])
if left < 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  left = tonumber(ARGV[1])
end
return { count, left }`;
const ANSWER_MS = 1_000;
/** After a lost answer nobody waits for the next one for so long. */
const REST_MS = 1_000;
const CONNECT_MS = 2_000;

type WithHit = Redis & { hitWindow(key: string, windowMs: number): Promise<[count: number, leftMs: number]> };

/**
 * The cache of many processes. Starts whether or not Redis can be reached, and connects again by itself;
 * meanwhile the limits go on per process, values answer `unavailable`, and `ping` rejects.
 */
export async function openRedisCache(
  url: string,
  clock: Clock,
  { prefix = 'rookery:', onChange = () => {}, onHandlerError = () => {} }: CacheOptions = {},
): Promise<Cache> {
  const options = {
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), 2_000),
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'), // its primary has changed
    connectTimeout: CONNECT_MS,
    disconnectTimeout: 100, // its timer would keep an ending process alive
    lazyConnect: true,
  };
  const redis = new Redis(url, {
    ...options,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: ANSWER_MS,
    enableAutoPipelining: true,
  }) as WithHit;
  const subscriber = new Redis(url, { ...options, maxRetriesPerRequest: null });
  redis.defineCommand('hitWindow', { numberOfKeys: 1, lua: HIT });

  const local = windowLimiter(clock);
  const handlers = new Map<string, Set<(message: string) => void>>();
  let awaySince: Date | undefined;
  let restUntil = 0;
  let closing = false;
  let lastError = 'not connected yet';

  function away(reason: string): void {
    restUntil = clock.monotonic() + REST_MS;
    if (awaySince || closing) return;
    awaySince = clock.now();
    onChange('away', reason);
  }
  function back(): void {
    restUntil = 0;
    if (!awaySince) return;
    awaySince = undefined;
    onChange('back');
  }
  redis.on('error', (error: Error) => (lastError = error.message || String(error)));
  redis.on('close', () => away(lastError));
  redis.on('ready', back);
  subscriber.on('error', () => {}); // the first connection tells; this one follows it
  subscriber.on('message', (channel: string, message: string) => {
    for (const handler of handlers.get(channel) ?? [])
      try {
        handler(message);
      } catch (error) {
        onHandlerError(channel.slice(prefix.length), error);
      }
  });

  /** Rejects at once while Redis is known to be away, and remembers when it turns out to be. */
  async function ask<T>(question: () => Promise<T>): Promise<T> {
    if (redis.status !== 'ready' || clock.monotonic() < restUntil)
      throw new AppError('unavailable', 'The cache cannot be reached, try again shortly', {}, { cause: lastError });
    try {
      const answer = await question();
      back();
      return answer;
    } catch (cause) {
      if (cause instanceof Error && cause.name === 'ReplyError') throw cause; // Redis did answer: the question was wrong
      lastError = cause instanceof Error ? cause.message : String(cause);
      away(lastError);
      throw new AppError('unavailable', 'The cache cannot be reached, try again shortly', {}, { cause });
    }
  }

  /** Waits for something that never rejects, but not for ever. */
  async function atMost(ms: number, event: Promise<unknown>): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([event, clock.sleep(ms, waiting.signal).catch(() => undefined)]);
    waiting.abort();
  }

  await atMost(CONNECT_MS, Promise.allSettled([redis.connect(), subscriber.connect()]));
  if (redis.status !== 'ready') away(lastError);

  return {
    kind: 'redis',
    get: (key) => ask(async () => (await redis.get(prefix + key)) ?? undefined),
    set: (key, value, ttlMs) => ask(async () => void (await redis.set(prefix + key, value, 'PX', Math.max(1, Math.ceil(ttlMs))))),
    delete: (key) => ask(async () => void (await redis.del(prefix + key))),
    publish: (channel, message) => ask(async () => void (await redis.publish(prefix + channel, message))).catch(() => undefined),

    async subscribe(channel, handler) {
      const name = prefix + channel;
      const own = (message: string) => handler(message);
      const all = handlers.get(name) ?? new Set();
      handlers.set(name, all.add(own));
      // While Redis is away this waits in the client's queue; the caller does not.
      if (all.size === 1)
        await atMost(
          ANSWER_MS,
          subscriber.subscribe(name).catch(() => undefined),
        );
      return {
        async [Symbol.asyncDispose]() {
          all.delete(own);
          if (all.size > 0 || handlers.get(name) !== all) return;
          handlers.delete(name);
          if (!closing)
            await atMost(
              ANSWER_MS,
              subscriber.unsubscribe(name).catch(() => undefined),
            );
        },
      };
    },

    async hit(bucket, limit, windowMs): Promise<Hit> {
      try {
        const [count, leftMs] = await ask(() => redis.hitWindow(`${prefix}limit:${bucket}`, windowMs));
        return { allowed: count <= limit, remaining: Math.max(limit - count, 0), resetAt: clock.in(leftMs) };
      } catch {
        return local(bucket, limit, windowMs);
      }
    },

    // Asks even while resting: this is how a store that hung is found again.
    async ping() {
      restUntil = 0;
      await ask(() => redis.ping());
    },
    health: () => ({ limitsShared: awaySince === undefined, awaySince }),
    async [Symbol.asyncDispose]() {
      closing = true;
      handlers.clear();
      redis.disconnect();
      subscriber.disconnect();
    },
  };
}
