import { Redis } from 'ioredis';
import { atMost } from '../flow/index.ts';
import type { Clock } from '../kernel/index.ts';
import type { CacheOptions } from './port.ts';

/** How long anybody waits for an answer of Redis. */
export const ANSWER_MS = 1_000;
export const CONNECT_MS = 2_000;
/** How each connection to Redis comes and goes. */
export const CONNECTION = {
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), 2_000),
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'), // its primary has changed
  connectTimeout: CONNECT_MS,
  disconnectTimeout: 100, // its timer would keep an ending process alive
  lazyConnect: true,
};

/** Messages to the handlers of this process, over a connection of their own. */
export function openRedisChannels(
  url: string,
  { clock, prefix }: { clock: Clock; prefix: string },
  onHandlerError: NonNullable<CacheOptions['onHandlerError']>,
) {
  const subscriber = new Redis(url, { ...CONNECTION, maxRetriesPerRequest: null });
  const handlers = new Map<string, Set<(message: string) => void>>();
  let closing = false;
  subscriber.on('error', () => {}); // the first connection tells; this one follows it
  subscriber.on('message', (channel: string, message: string) => {
    for (const handler of handlers.get(channel) ?? [])
      try {
        handler(message);
      } catch (error) {
        onHandlerError(channel.slice(prefix.length), error);
      }
  });
  return {
    connect: () => subscriber.connect(),
    async subscribe(channel: string, handler: (message: string) => void): Promise<AsyncDisposable> {
      const name = prefix + channel;
      const own = (message: string) => handler(message);
      const all = handlers.get(name) ?? new Set();
      handlers.set(name, all.add(own));
      // While Redis is away this waits in the client's queue; the caller does not.
      if (all.size === 1) await atMost(clock, ANSWER_MS, () => subscriber.subscribe(name).catch(() => undefined));
      return {
        async [Symbol.asyncDispose]() {
          all.delete(own);
          if (all.size > 0 || handlers.get(name) !== all) return;
          handlers.delete(name);
          if (!closing) await atMost(clock, ANSWER_MS, () => subscriber.unsubscribe(name).catch(() => undefined));
        },
      };
    },
    close() {
      closing = true;
      handlers.clear();
      subscriber.disconnect();
    },
  };
}
