import type { Cache } from '../../src/platform/cache/index.ts';
import { randomBase62 } from '../../src/platform/kernel/index.ts';

/** How long another process has to say that it took a message. */
const TAKEN_MS = 5_000;
const channelOf = (owner: string) => `mcp-streams|${owner}`;

interface Packet<T> {
  /** Absent: an answer to a packet of ours. */
  sent?: T;
  ticket: string;
  from: string;
  taken?: boolean;
}
const toJson = (_: string, value: unknown): unknown => (value instanceof Set ? { set: [...value] } : value);
const fromJson = (_: string, value: unknown): unknown => {
  const elements = typeof value === 'object' && value !== null ? (value as { set?: unknown }).set : undefined;
  return Array.isArray(elements) && Object.keys(value as object).length === 1 ? new Set(elements) : value;
};

/**
 * Hands messages to other processes over the cache, and takes theirs: `take` says whether one was for this process. A
 * message is at most once; whoever sends it is told whether it was taken.
 */
export function openRelay<T>(cache: Cache, owner: string, take: (sent: T) => Promise<boolean>) {
  const waiting = new Map<string, (taken: boolean) => void>();
  let users = 0;
  let subscription: Promise<AsyncDisposable> | undefined;

  async function hear(text: string): Promise<void> {
    const { sent, ticket, from, taken = false } = JSON.parse(text, fromJson) as Packet<T>;
    if (sent === undefined) return waiting.get(ticket)?.(taken);
    const isOurs = await take(sent).catch(() => false);
    const answer: Packet<T> = { ticket, from: owner, taken: isOurs };
    await cache.publish(channelOf(from), JSON.stringify(answer)).catch(() => undefined); // the sender gives up by itself
  }

  /** Listens until `leave`; without the cache this process takes what comes to it directly. */
  async function join() {
    users += 1;
    subscription ??= cache.subscribe(channelOf(owner), (text) => void hear(text));
    await subscription.catch(() => (subscription = undefined));
    return {
      async leave(): Promise<void> {
        users -= 1;
        if (users > 0) return;
        const left = subscription;
        subscription = undefined;
        await (await left)?.[Symbol.asyncDispose]();
      },
    };
  }

  return {
    join,
    /** True when the process `to` took it. Rejects with `unavailable` while the cache cannot be reached. */
    async send(to: string, sent: T): Promise<boolean> {
      if (cache.kind === 'memory' || !/^[0-9a-f-]{36}$/.test(to)) return false;
      await cache.ping(); // a message that is published while it is away is lost in silence
      const listening = await join();
      const ticket = randomBase62(16);
      const answer = Promise.withResolvers<boolean>();
      const late = setTimeout(() => answer.resolve(false), TAKEN_MS);
      waiting.set(ticket, answer.resolve);
      try {
        const packet: Packet<T> = { sent, ticket, from: owner };
        await cache.publish(channelOf(to), JSON.stringify(packet, toJson));
        return await answer.promise;
      } finally {
        clearTimeout(late);
        waiting.delete(ticket);
        await listening.leave();
      }
    },
  };
}
