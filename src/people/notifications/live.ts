import { z } from 'zod';
import { type Cache, openStreamSlots } from '../../platform/cache/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { type Loop, startLoop } from '../../platform/flow/index.ts';
import { type Clock, newId } from '../../platform/kernel/index.ts';
import { parseStreamPlace, type StreamReader } from './live-store.ts';
import { type LiveEvent, type LiveStream, newsForEach, putFound, putNews, takeFound } from './live-stream.ts';

interface LiveOptions {
  sql: Database;
  cache: Pick<Cache, 'claim' | 'delete' | 'publish' | 'subscribe'>;
  clock: Clock;
  log: { warn(detail: object, message: string): void };
  /** Between two looks that nobody asked for. */
  lookMs?: number;
}

/** The open pages of this process. Disposing of it ends them. */
export type Live = ReturnType<typeof openLive>;

const CHANNEL = 'notifications';
/** Ended sessions and lost messages are seen so late, and proxies hear that a quiet stream lives. */
const LOOK_MS = 15_000;
const AFTER_FAILURE_MS = 1_000;
/** Between two looks at what could not be told yet: an older transaction holds it back, or the page is slow. */
const HELD_MS = 500;
/** Looks at all streams after which the slot of one is free that none of them renewed: its process is gone. */
const LOOKS_OF_SLOT = 3;
const MOST_AT_ONCE = 500;
/** Of one person. */
const MOST_STREAMS = 5;
const UserIds = z.array(z.string());

const openSlots = (cache: LiveOptions['cache'], ttlMs: number) =>
  openStreamSlots(cache, {
    name: 'stream',
    most: MOST_STREAMS,
    ttlMs,
    refusal: `You follow your notifications ${MOST_STREAMS} times already: close a page`,
  });

/**
 * Tells open pages what the database says. Messages between processes only make it sooner: every stream is looked at
 * again and again, all of a process together.
 */
export function openLive({ sql, cache, clock, log, lookMs = LOOK_MS }: LiveOptions) {
  const streams = new Map<string, Set<LiveStream>>();
  const changed = new Set<LiveStream>();
  const slots = openSlots(cache, LOOKS_OF_SLOT * lookMs);
  let everyAt = 0;
  let started: { loop: Loop; subscription: Promise<AsyncDisposable> } | undefined;

  const all = (): LiveStream[] => [...streams.values()].flatMap((some) => [...some]);

  async function round(): Promise<number> {
    const isEvery = clock.monotonic() >= everyAt;
    if (isEvery) {
      everyAt = clock.monotonic() + lookMs;
      slots.renew(all());
    }
    const wanted = (isEvery ? all() : [...changed]).filter(({ found }) => found === undefined);
    for (let n = 0; n < wanted.length; n += MOST_AT_ONCE) await look(wanted.slice(n, n + MOST_AT_ONCE), isEvery);
    return Math.min(changed.size > 0 ? HELD_MS : Infinity, Math.max(0, everyAt - clock.monotonic()));
  }

  async function look(some: readonly LiveStream[], isEvery: boolean): Promise<void> {
    // before: what changes meanwhile is looked at again
    some.forEach((stream) => changed.delete(stream));
    try {
      for (const [stream, news] of await newsForEach(sql, some)) {
        putNews(stream, news, isEvery);
        if (news?.isHeld) changed.add(stream);
      }
    } catch (error) {
      some.forEach((stream) => changed.add(stream));
      throw error;
    }
  }

  const start = () => ({
    loop: startLoop({
      clock,
      round,
      restMs: lookMs,
      onError(error) {
        log.warn({ err: error }, 'open pages could not be told what is new, repeated');
        return AFTER_FAILURE_MS;
      },
    }),
    subscription: cache.subscribe(CHANNEL, (message) => {
      for (const userId of UserIds.parse(JSON.parse(message)))
        streams.get(userId)?.forEach((stream) => changed.add(stream));
      if (changed.size > 0) started?.loop.wake();
    }),
  });

  function enter(reader: StreamReader, lastEventId: string | undefined): LiveStream {
    const own = streams.get(reader.userId) ?? new Set();
    const stream: LiveStream = {
      reader,
      id: newId(),
      userId: reader.userId,
      slot: undefined,
      place: parseStreamPlace(lastEventId),
      total: undefined,
      found: undefined,
      arrived: Promise.withResolvers(),
    };
    streams.set(reader.userId, own.add(stream));
    changed.add(stream);
    return stream;
  }

  function leave(stream: LiveStream): void {
    const own = streams.get(stream.userId);
    own?.delete(stream);
    if (own?.size === 0) streams.delete(stream.userId);
    changed.delete(stream);
    slots.release(stream);
  }

  return {
    /** Streams that are open in this process. */
    count: () => all().length,

    /** Says that something is new to users, or that they have read it. */
    async announce(userIds: readonly string[]): Promise<void> {
      const unique = [...new Set(userIds)];
      for (let n = 0; n < unique.length; n += MOST_AT_ONCE)
        await cache.publish(CHANNEL, JSON.stringify(unique.slice(n, n + MOST_AT_ONCE)));
    },

    /**
     * Follows what somebody is told in an organization, first what followed on `lastEventId`. Ends with the session, the
     * membership, or the signal.
     * @throws AppError `rate_limited` for who follows five times already, in all processes together
     */
    async *follow(reader: StreamReader, lastEventId: string | undefined, ends: AbortSignal): AsyncGenerator<LiveEvent> {
      const stream = enter(reader, lastEventId);
      const end = () => putFound(stream, 'ended');
      ends.addEventListener('abort', end);
      try {
        await slots.claim(stream, streams.get(reader.userId)!.size);
        await (started ??= start()).subscription;
        started.loop.wake();
        while (!ends.aborted) {
          const found = await takeFound(stream);
          if (found === 'ended') return;
          yield* found;
          if (changed.has(stream)) started.loop.wake(); // it was passed over while this was told
        }
      } finally {
        ends.removeEventListener('abort', end);
        leave(stream);
      }
    },

    async [Symbol.asyncDispose]() {
      all().forEach((stream) => putFound(stream, 'ended'));
      await started?.loop[Symbol.asyncDispose]();
      await (await started?.subscription)?.[Symbol.asyncDispose]();
    },
  };
}
