import type { Clock } from '../kernel/index.ts';
import { openMemoryCache } from './memory.ts';
import type { Cache, CacheOptions } from './port.ts';

export { briefLookups, type Lookups } from './lookups.ts';
export { openMemoryCache } from './memory.ts';
export type { Cache, CacheOptions, Hit, RateBucket } from './port.ts';
export { openStreamSlots, type SlotHolder } from './stream-slots.ts';

export type { ByteChannels } from './byte-channels.ts';

/** Channels of bytes over Redis; the client is loaded by the first that asks. */
export const byteChannels: typeof import('./byte-channels.ts').openByteChannels = async (options) =>
  (await import('./byte-channels.ts')).openByteChannels(options);

/** Redis where an address is given, else the cache of this process. */
export async function openCache(url: string | undefined, clock: Clock, options: CacheOptions = {}): Promise<Cache> {
  if (url === undefined) return openMemoryCache(clock, options);
  const { openRedisCache } = await import('./redis.ts'); // the client is not loaded where nothing needs it
  return openRedisCache(url, clock, options);
}
