import { AppError } from '../kernel/index.ts';
import type { Cache } from './port.ts';

/** A stream of somebody; `slot` is its place among theirs in all processes, undefined while the cache is away. */
export interface SlotHolder {
  readonly id: string;
  /** Whose streams are counted. */
  readonly userId: string;
  slot: string | undefined;
}

export interface StreamSlotOptions {
  /** In front of the keys. */
  name: string;
  /** Streams of one person. */
  most: number;
  /** One that is not renewed for so long is gone. */
  ttlMs: number;
  /** What a person is told who has no slot left, and when to try again. */
  refusal: string;
  retryAfterMs?: number;
}

/** The streams that a person may have open at once, over all processes. */
export const openStreamSlots = (
  cache: Pick<Cache, 'claim' | 'delete'>,
  { name, most, ttlMs, refusal, retryAfterMs }: StreamSlotOptions,
) => ({
  /**
   * Takes a slot. `here`: how many the person has in this process, which alone counts while the cache is away.
   * @throws AppError `rate_limited` when there is none left
   */
  async claim(stream: SlotHolder, here: number): Promise<void> {
    const tooMany = () => new AppError('rate_limited', refusal, retryAfterMs === undefined ? {} : { retryAfterMs });
    if (here > most) throw tooMany();
    try {
      for (let n = 0; n < most; n += 1) {
        const slot = `${name}|${stream.userId}|${n}`;
        if (!(await cache.claim(slot, stream.id, ttlMs))) continue;
        stream.slot = slot;
        return;
      }
    } catch {
      return;
    }
    throw tooMany();
  },

  /** Keeps the slots of streams that go on; nobody waits for it. */
  renew(streams: readonly SlotHolder[]): void {
    for (const stream of streams) {
      const { slot } = stream;
      if (slot === undefined) continue;
      void cache.claim(slot, stream.id, ttlMs).then(
        (isOwn) => {
          if (!isOwn && stream.slot === slot) stream.slot = undefined; // the cache was away for long
        },
        () => undefined,
      );
    }
  },

  release({ slot }: SlotHolder): void {
    if (slot !== undefined) void cache.delete(slot).catch(() => undefined); // it ends by itself, too
  },
});
