import { Redis } from 'ioredis';
import type { Clock } from '../kernel/index.ts';
import { atMost } from '../flow/index.ts';
import { ANSWER_MS, CONNECTION, openSubscriptions } from './redis-channels.ts';

/** Messages of bytes between processes. At most once: what is sent while Redis is away is lost. */
export interface ByteChannels extends AsyncDisposable {
  publish(channel: string, message: Uint8Array): void;
  /** Hears a channel, also what this process sends, until disposed. */
  subscribe(channel: string, handler: (message: Uint8Array) => void): Promise<AsyncDisposable>;
  /** Redis can be reached. */
  readonly isThere: boolean;
}

/**
 * Milliseconds between two writes to Redis. A message after a silence goes at once; of many, those of this time leave
 * together: each write of its own costs more than all else about a message.
 */
const GATHERING_MS = 25;

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
  const publisher = new Redis(url, { ...CONNECTION, enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  const subscriber = new Redis(url, { ...CONNECTION, maxRetriesPerRequest: null });
  const subscriptions = openSubscriptions<Uint8Array>(subscriber, clock, (_, error) => onHandlerError(error));
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
  subscriber.on('messageBuffer', (channel: Buffer, message: Buffer) =>
    subscriptions.hear(channel.toString(), new Uint8Array(message)),
  );
  await atMost(clock, ANSWER_MS, () => Promise.allSettled([publisher.connect(), subscriber.connect()]));

  let gathered: [channel: string, message: Uint8Array][] = [];
  let sentAt = -Infinity;
  const ending = new AbortController();
  function sendGathered(): void {
    const pipeline = publisher.pipeline();
    for (const [channel, message] of gathered) pipeline.publish(prefix + channel, Buffer.from(message));
    gathered = [];
    sentAt = clock.monotonic();
    pipeline.exec().catch(() => undefined);
  }

  return {
    get isThere() {
      return publisher.status === 'ready' && subscriber.status === 'ready';
    },
    publish(channel, message) {
      if (gathered.push([channel, message]) > 1) return;
      const waitMs = sentAt + GATHERING_MS - clock.monotonic();
      if (waitMs <= 0) setImmediate(sendGathered);
      else clock.sleep(waitMs, ending.signal).then(sendGathered, () => undefined);
    },
    subscribe: (channel, handler) => subscriptions.subscribe(prefix + channel, handler),
    async [Symbol.asyncDispose]() {
      if (gathered.length > 0) sendGathered();
      ending.abort();
      publisher.disconnect();
      subscriptions.close();
    },
  };
}
