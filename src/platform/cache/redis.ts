import { Redis } from 'ioredis';
import { atMost, openBatcher } from '../flow/index.ts';
import { AppError, type Clock } from '../kernel/index.ts';
import { windowLimiter } from './limiter.ts';
import type { Cache, CacheOptions, Hit, RateBucket } from './port.ts';
import { ANSWER_MS, CONNECT_MS, CONNECTION, openRedisChannels } from './redis-channels.ts';

/**
 * Counts once for each key, and starts a window with its first hit. Each key has three arguments: its window, its limit,
 * and, at the last of those that one request is counted against, how many these are; where one of them refuses, the
 * others are given back before anybody else counts. Answers for each the count and what is left of the window.
 */
const HITS = `
local answer = {}
local refused = false
for n, key in ipairs(KEYS) do
  local count = redis.call('incr', key)
  local left = count > 1 and redis.call('pttl', key) or -1
  if left < 0 then
    left = tonumber(ARGV[3 * n - 2])
    redis.call('pexpire', key, left)
  end
  answer[2 * n - 1] = count
  answer[2 * n] = left
  refused = refused or count > tonumber(ARGV[3 * n - 1])
  local size = tonumber(ARGV[3 * n])
  if size > 0 then
    if refused and size > 1 then
      for m = n - size + 1, n do
        if answer[2 * m - 1] <= tonumber(ARGV[3 * m - 1]) then redis.call('decr', KEYS[m]) end
      end
    end
    refused = false
  end
end
return answer`;
/** Takes a key that is free, or the holder's own, for so long. */
const CLAIM = `
if (redis.call('get', KEYS[1]) or ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
/** Keys of one script at most: it holds up everybody else who asks Redis. */
const HITS_AT_ONCE = 500;
const EXCHANGES_AT_ONCE = 4;
/** For what the client asks by itself, too. */
const CLIENT_MS = 10_000;
/** After a lost answer nobody waits for the next one for so long. */
const REST_MS = 1_000;

const unavailable = (cause: unknown) =>
  new AppError('unavailable', 'The cache cannot be reached, try again shortly', {}, { cause });

type WithScripts = Redis & {
  hitWindows(count: number, keys: string[], windows: number[]): Promise<number[]>;
  claimKey(key: string, holder: string, ttlMs: number): Promise<number>;
};
/** The buckets of one request. */
interface Waiting {
  buckets: readonly RateBucket[];
  resolve: (hits: Hit[]) => void;
}

/**
 * Rejects what is not answered in time. A process that stood still for so long looks once more: the answer may have
 * been there all the while.
 */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => setImmediate(late.reject, new Error('Command timed out')), ANSWER_MS);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** One connection to Redis, and what is known of it. */
interface Link {
  readonly redis: WithScripts;
  readonly clock: Clock;
  readonly prefix: string;
  readonly onChange: NonNullable<CacheOptions['onChange']>;
  awaySince: Date | undefined;
  restUntil: number;
  /** It answers and does not count: full, read-only, or this user may not write. */
  refusing: boolean;
  closing: boolean;
  lastError: string;
}

function openRedis(url: string): WithScripts {
  const redis = new Redis(url, {
    ...CONNECTION,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: CLIENT_MS,
    enableAutoPipelining: true,
    autoPipeliningIgnoredCommands: ['hitWindows'], // gathered here
  }) as WithScripts;
  redis.defineCommand('hitWindows', { lua: HITS });
  redis.defineCommand('claimKey', { lua: CLAIM, numberOfKeys: 1 });
  return redis;
}

function away(link: Link, reason: string): void {
  link.restUntil = link.clock.monotonic() + REST_MS;
  if (link.awaySince || link.closing) return;
  link.awaySince = link.clock.now();
  link.onChange('away', reason);
}
function back(link: Link): void {
  link.restUntil = 0;
  if (!link.awaySince || link.refusing) return;
  link.awaySince = undefined;
  link.onChange('back');
}

/** Rejects at once while Redis is known to be away, and remembers when it turns out to be. */
async function ask<T>(link: Link, question: () => Promise<T>): Promise<T> {
  if (link.redis.status !== 'ready' || link.clock.monotonic() < link.restUntil) throw unavailable(link.lastError);
  try {
    const answer = await inTime(question());
    back(link);
    return answer;
  } catch (cause) {
    // Redis did answer: the question was wrong
    if (cause instanceof Error && cause.name === 'ReplyError') throw cause;
    link.lastError = cause instanceof Error ? cause.message : String(cause);
    away(link, link.lastError);
    throw unavailable(cause);
  }
}

/** The question of the limits. A Redis that refuses it is away for them, whatever else it answers. */
async function count(link: Link, requests: readonly Pick<Waiting, 'buckets'>[]): Promise<number[]> {
  const keys: string[] = [];
  const windows: number[] = [];
  for (const { buckets } of requests)
    for (const [n, { bucket, windowMs, limit }] of buckets.entries()) {
      keys.push(`${link.prefix}limit:${bucket}`);
      windows.push(windowMs, limit, n === buckets.length - 1 ? buckets.length : 0);
    }
  try {
    const counted = await ask(link, () => link.redis.hitWindows(keys.length, keys, windows));
    link.refusing = false;
    back(link);
    return counted;
  } catch (error) {
    if (error instanceof AppError) throw error;
    link.refusing = true;
    link.lastError = String(error);
    away(link, link.lastError);
    throw unavailable(error);
  }
}

/**
 * Pipelines what is asked in one turn of the event loop, and while enough is under way with the next: an exchange of
 * its own costs more than the rest of a small request.
 */
function gatherHits(link: Link): (request: Waiting) => void {
  const { clock } = link;
  const local = windowLimiter(clock);
  return openBatcher<Waiting>({
    max: HITS_AT_ONCE,
    weigh: ({ buckets }) => buckets.length,
    heaviest: HITS_AT_ONCE,
    atOnce: EXCHANGES_AT_ONCE,
    soon: setImmediate,
    async send(requests) {
      try {
        const counted = await count(link, requests);
        let n = 0;
        for (const { buckets, resolve } of requests)
          resolve(
            buckets.map(({ limit }) => {
              const [done, leftMs] = [counted[n]!, counted[n + 1]!];
              n += 2;
              return { allowed: done <= limit, remaining: Math.max(limit - done, 0), resetAt: clock.in(leftMs) };
            }),
          );
      } catch {
        for (const { buckets, resolve } of requests) resolve(local(buckets));
      }
    },
  });
}

/**
 * The cache of many processes. Starts whether or not Redis can be reached, and connects again by itself;
 * meanwhile the limits go on per process, values answer `unavailable`, and `ping` rejects.
 */
export async function openRedisCache(
  url: string,
  clock: Clock,
  { prefix = 'rookery:', onChange = () => {}, onHandlerError = () => {} }: CacheOptions = {},
): Promise<Cache> {
  const redis = openRedis(url);
  const link: Link = {
    redis,
    clock,
    prefix,
    onChange,
    awaySince: undefined,
    restUntil: 0,
    refusing: false,
    closing: false,
    lastError: 'not connected yet',
  };
  const channels = openRedisChannels(url, link, onHandlerError);
  const gather = gatherHits(link);
  const hitAll = (buckets: readonly RateBucket[]) =>
    new Promise<Hit[]>((resolve) => {
      gather({ buckets, resolve });
    });
  redis.on('error', (error: Error) => (link.lastError = error.message || String(error)));
  redis.on('close', () => away(link, link.lastError));
  redis.on('ready', () => back(link));
  await atMost(clock, CONNECT_MS, () => Promise.allSettled([redis.connect(), channels.connect()]));
  if (redis.status !== 'ready') away(link, link.lastError);

  return {
    kind: 'redis',
    get: (key) => ask(link, async () => (await redis.get(prefix + key)) ?? undefined),
    set: (key, value, ttlMs) =>
      ask(link, async () => void (await redis.set(prefix + key, value, 'PX', Math.max(1, Math.ceil(ttlMs))))),
    delete: (key) => ask(link, async () => void (await redis.del(prefix + key))),
    claim: (key, holder, ttlMs) =>
      ask(link, async () => (await redis.claimKey(prefix + key, holder, Math.max(1, Math.ceil(ttlMs)))) === 1),
    publish: (channel, message) => ask(link, () => redis.publish(prefix + channel, message)).catch(() => undefined),
    subscribe: channels.subscribe,
    hit: async (bucket, limit, windowMs) => (await hitAll([{ bucket, limit, windowMs }]))[0]!,
    hitAll,

    // Asks even while resting: this is how a store that hung is found again. Asks to count: one that only reads keeps
    // no limits.
    async ping() {
      link.restUntil = 0;
      await count(link, [{ buckets: [{ bucket: 'ping', limit: 1, windowMs: 1_000 }] }]);
    },
    health: () => ({ limitsShared: link.awaySince === undefined, awaySince: link.awaySince }),
    async [Symbol.asyncDispose]() {
      link.closing = true;
      channels.close();
      redis.disconnect();
    },
  };
}
