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

const SCRIPTS = { bullmq: 'wave-bullmq.mjs', groupmq: 'fairness-groupmq.mjs' };

/** A queue on Redis, which publishes what is handed to it; undefined without Redis, which is added to `skipped`. */
export async function openQueue(
  name: keyof typeof SCRIPTS,
  world: World,
  skipped: string[],
  { provider, ...settings }: Settings,
): Promise<Child | undefined> {
  const redis = await skippedWithout(skipped, name, () => world.redis('always'));
  if (!redis) return undefined;
  const text = CONTENT.replace(/<.*?>/g, '');
  const child = await world.peer(SCRIPTS[name], {
    ...settings,
    providerUrl: provider.url,
    text,
    redisPort: redis.port,
  });
  await child.ask({ do: 'ready' });
  return child;
}
