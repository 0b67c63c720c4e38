import { Redis } from 'ioredis';
import type { Clock } from '../kernel/index.ts';
import { atMost } from '../flow/index.ts';

/** Messages of bytes between processes. At most once: what is sent while Redis is away is lost. */
export interface ByteChannels extends AsyncDisposable {
  publish(channel: string, message: Uint8Array): void;
  /** Hears a channel, also what this process sends, until disposed. */
  subscribe(channel: string, handler: (message: Uint8Array) => void): Promise<AsyncDisposable>;
  /** Redis can be reached. */
  readonly isThere: boolean;
}

const ANSWER_MS = 1_000;
const OPTIONS = {
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), 2_000),
  connectTimeout: 2_000,
  disconnectTimeout: 100,
  lazyConnect: true,
};

interface Options {
  url: string;
  clock: Clock;
  /** In front of every channel. */
  prefix?: string;
  /** Redis is back after it was away: messages were lost. */
  onBack(): void;
  onHandlerError(error: unknown): void;
}

/** Opens channels of bytes over Redis, which is waited for no longer than a moment. */
export async function openByteChannels({
  url,
  clock,
  prefix = 'rookery:',
  onBack,
  onHandlerError,
}: Options): Promise<ByteChannels> {
  const publisher = new Redis(url, { ...OPTIONS, enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  const subscriber = new Redis(url, { ...OPTIONS, maxRetriesPerRequest: null });
  const handlers = new Map<string, Set<(message: Uint8Array) => void>>();
  let wasAway = false;
  for (const redis of [publisher, subscriber]) {
    redis.on('error', () => {}); // the cache tells that Redis is away
    redis.on('close', () => (wasAway = true));
  }
  // after `ready` the client subscribes again; both have to be there for a message to come
  const look = () => {
    if (!wasAway || publisher.status !== 'ready' || subscriber.status !== 'ready') return;
    wasAway = false;
    setTimeout(onBack, 0);
  };
  publisher.on('ready', look);
  subscriber.on('ready', look);
  subscriber.on('messageBuffer', (channel: Buffer, message: Buffer) => {
    for (const handler of handlers.get(channel.toString()) ?? [])
      try {
        handler(new Uint8Array(message));
      } catch (error) {
        onHandlerError(error);
      }
  });
  await atMost(clock, ANSWER_MS, () => Promise.allSettled([publisher.connect(), subscriber.connect()]));

  return {
    get isThere() {
      return publisher.status === 'ready' && subscriber.status === 'ready';
    },
    publish: (channel, message) =>
      void publisher.publish(prefix + channel, Buffer.from(message)).catch(() => undefined),
    async subscribe(channel, handler) {
      const name = prefix + channel;
      const all = handlers.get(name) ?? new Set();
      handlers.set(name, all.add(handler));
      if (all.size === 1) await atMost(clock, ANSWER_MS, () => subscriber.subscribe(name).catch(() => undefined));
      return {
        async [Symbol.asyncDispose]() {
          all.delete(handler);
          if (all.size > 0 || handlers.get(name) !== all) return;
          handlers.delete(name);
          await atMost(clock, ANSWER_MS, () => subscriber.unsubscribe(name).catch(() => undefined));
        },
      };
    },
    async [Symbol.asyncDispose]() {
      handlers.clear();
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}
