// rate-limiter-flexible on Redis, alone.
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { answering, settings } from '../bench/answering.mjs';

const redis = new Redis(settings.redisUrl, { enableAutoPipelining: true, enableOfflineQueue: false });
await new Promise((ready) => redis.once('ready', ready));
const limiterOf = (points) => new RateLimiterRedis({ storeClient: redis, points, duration: 3600, keyPrefix: 'flexible', rejectIfRedisNotReady: true });

answering({
  async hits({ callers, ms }) {
    const limiter = limiterOf(1e9);
    const begun = performance.now();
    let hits = 0;
    await Promise.all(Array.from({ length: callers }, async (_, caller) => {
      for (; performance.now() - begun < ms; hits += 1) await limiter.consume(`bench|org:${caller}`);
    }));
    return { hits, took: performance.now() - begun };
  },
  async exact({ hits, limit }) {
    const limiter = limiterOf(limit);
    const key = randomUUID();
    const asked = await Promise.allSettled(Array.from({ length: hits }, () => limiter.consume(key)));
    return asked.filter(({ status }) => status === 'fulfilled').length;
  },
});
