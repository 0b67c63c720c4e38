// A process of its own that counts against one bucket: `node test/support/processes/scripts/limiter-process.ts <redis url>
// <bucket> <limit> <hits>`. Says `ready`, waits for a line, asks everything at once, and answers how many were
// admitted.
import { openCache } from '../../../../src/platform/cache/index.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';

const [url, bucket, limit, hits] = process.argv.slice(2) as [string, string, string, string];
const cache = await openCache(url, systemClock);
// a slow machine connects later
while (!cache.health().limitsShared) await cache.ping().catch(() => systemClock.sleep(20));
process.stdout.write('ready\n');
await new Promise((go) => process.stdin.once('data', go));
const asked = await Promise.all(Array.from({ length: Number(hits) }, () => cache.hit(bucket, Number(limit), 60_000)));
process.stdout.write(`${asked.filter(({ allowed }) => allowed).length} ${cache.health().limitsShared}\n`);
await cache[Symbol.asyncDispose]();
process.exit(0);
