// The product's limiter on Redis, alone.
import { openCache } from '../../../src/platform/cache/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { answering } from '../kit/answering.ts';

const { redisUrl } = JSON.parse(process.argv[2]!) as { redisUrl: string };
const cache = await openCache(redisUrl, systemClock);
const HOUR_MS = 3_600_000;

answering({
  async hits({ callers, ms }: { callers: number; ms: number }) {
    const begun = performance.now();
    let hits = 0;
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (; performance.now() - begun < ms; hits += 1) await cache.hit(`bench|org:${caller}`, 1e9, HOUR_MS);
      }),
    );
    return { hits, took: performance.now() - begun };
  },
  async exact({ hits, limit }: { hits: number; limit: number }) {
    const bucket = newId();
    const asked = await Promise.all(Array.from({ length: hits }, () => cache.hit(bucket, limit, HOUR_MS)));
    return asked.filter(({ allowed }) => allowed).length;
  },
});
