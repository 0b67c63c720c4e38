import type { Child } from './child.ts';
import { skippedWithout } from './report.ts';
import { CONTENT } from './seed.ts';
import type { Provider, World } from './world.ts';

interface Settings {
  databaseUrl: string;
  provider: Provider;
  connections: number;
  concurrency: number;
}

/** bullmq, which publishes what is handed to it; undefined without Redis, which is added to `skipped`. */
export async function openBullmq(
  world: World,
  skipped: string[],
  { provider, ...settings }: Settings,
): Promise<Child | undefined> {
  const redis = await skippedWithout(skipped, 'bullmq', () => world.redis('always'));
  if (!redis) return undefined;
  const text = CONTENT.replace(/<.*?>/g, '');
  const child = await world.peer('wave-bullmq.mjs', {
    ...settings,
    providerUrl: provider.url,
    text,
    redisPort: redis.port,
  });
  await child.ask({ do: 'ready' });
  return child;
}
