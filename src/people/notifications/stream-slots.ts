import type { Cache } from '../../platform/cache/index.ts';
import { AppError } from '../../platform/kernel/index.ts';

const MOST_STREAMS = 5;
const SLOTS = Array.from({ length: MOST_STREAMS }, (_, n) => n);
const tooMany = () =>
  new AppError('rate_limited', `You follow your notifications ${MOST_STREAMS} times already: close a page`);

/** A stream of somebody; `slot` is its place among theirs in all processes, undefined while the cache is away. */
export interface SlotHolder {
  readonly id: string;
  readonly reader: { readonly userId: string };
  slot: string | undefined;
}

/** The streams that a person may have open at once, over all processes. One that is not renewed for `ttlMs` is gone. */
export const openStreamSlots = (cache: Pick<Cache, 'claim' | 'delete'>, ttlMs: number) => ({
  /**
   * Takes a slot. `here`: how many the person has in this process, which alone counts while the cache is away.
   * @throws AppError `rate_limited` when there is none left
   */
  async claim(stream: SlotHolder, here: number): Promise<void> {
    if (here > MOST_STREAMS) throw tooMany();
    const isTaken = async (slot: string) => {
      const isOwn = await cache.claim(slot, stream.id, ttlMs);
      if (isOwn) stream.slot = slot;
      return isOwn;
    };
    try {
      for (const n of SLOTS) if (await isTaken(`stream|${stream.reader.userId}|${n}`)) return;
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
