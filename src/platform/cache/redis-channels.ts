import { Redis } from 'ioredis';
import { atMost } from '../flow/index.ts';
import type { Clock } from '../kernel/index.ts';
import type { CacheOptions } from './port.ts';

/** How long anybody waits for an answer of Redis. */
export const ANSWER_MS = 1_000;
export const CONNECT_MS = 2_000;
/**
 * A connection on which a question is unanswered and nothing is heard for so long is made anew: a firewall that forgot
 * it tells nobody, and TCP would try for a quarter of an hour.
 */
const SILENT_MS = 3_000;
/** One that only hears is asked so often whether its other end is there. */
const LOOK_MS = 5_000;
/** How each connection to Redis comes and goes. */
export const CONNECTION = {
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), 2_000),
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'), // its primary has changed
  connectTimeout: CONNECT_MS,
  socketTimeout: SILENT_MS,
  disconnectTimeout: 100, // its timer would keep an ending process alive
  lazyConnect: true,
};

/**
 * The handlers of this process for the channels that a connection hears. While Redis is away a subscription waits in the
 * queue of its client; the caller waits no longer than for an answer.
 */
export function openSubscriptions<Message>(
  subscriber: Redis,
  clock: Clock,
  onHandlerError: (channel: string, error: unknown) => void,
) {
  const handlers = new Map<string, Set<(message: Message) => void>>();
  let closing = false;
  const looks = clock.every(LOOK_MS, () => {
    if (subscriber.status === 'ready') subscriber.ping().catch(() => undefined);
  });
  const briefly = (work: () => Promise<unknown>) => atMost(clock, ANSWER_MS, () => work().catch(() => undefined));
  return {
    hear(channel: string, message: Message): void {
      for (const handler of handlers.get(channel) ?? [])
        try {
          handler(message);
        } catch (error) {
          onHandlerError(channel, error);
        }
    },
    async subscribe(channel: string, handler: (message: Message) => void): Promise<AsyncDisposable> {
      const own = (message: Message) => handler(message); // one handler may have several subscriptions
      const all = handlers.get(channel) ?? new Set();
      handlers.set(channel, all.add(own));
      if (all.size === 1) await briefly(() => subscriber.subscribe(channel));
      return {
        async [Symbol.asyncDispose]() {
          all.delete(own);
          if (all.size > 0 || handlers.get(channel) !== all) return;
          handlers.delete(channel);
          if (!closing) await briefly(() => subscriber.unsubscribe(channel));
        },
      };
    },
    close(): void {
      closing = true;
      looks[Symbol.dispose]();
      handlers.clear();
      subscriber.disconnect();
    },
  };
}

/** Messages to the handlers of this process, over a connection of their own. */
export function openRedisChannels(
  url: string,
  { clock, prefix }: { clock: Clock; prefix: string },
  onHandlerError: NonNullable<CacheOptions['onHandlerError']>,
) {
  const subscriber = new Redis(url, { ...CONNECTION, maxRetriesPerRequest: null });
  const subscriptions = openSubscriptions<string>(subscriber, clock, (channel, error) =>
    onHandlerError(channel.slice(prefix.length), error),
  );
  subscriber.on('error', () => {}); // the first connection tells; this one follows it
  subscriber.on('message', subscriptions.hear);
  return {
    connect: () => subscriber.connect(),
    subscribe: (channel: string, handler: (message: string) => void) =>
      subscriptions.subscribe(prefix + channel, handler),
    close: () => subscriptions.close(),
  };
}
