import type { Clock } from '../../../platform/kernel/index.ts';
import type { Part } from '../../../providers/registry/index.ts';

/** Bytes of parts by their numbers. */
type Sizes = Map<number, number>;

interface Sending extends Disposable {
  /** Bytes of the upload with this part and all others that come here, beside those that have arrived by now. */
  bytesWith(arrived: Sizes): number;
  /** Says that the part has arrived. */
  arrived(part: Part): Promise<void>;
}

/** A list of parts that have arrived is good for so long: those that come to other processes count from the next one. */
const LISTED_MS = 10_000;

/**
 * The parts that come to this process: they count before they have arrived. Of two sendings of one part the later one
 * is meant, and the earlier is stopped.
 */
export function openPartsInFlight(clock: Pick<Clock, 'monotonic'>) {
  const uploads = new Map<string, Map<number, { bytes: number; stop(): void }>>();
  const lists = new Map<string, { at: number; sizes: Promise<Sizes | undefined> }>(); // the oldest first

  return {
    /**
     * What has arrived of an upload; undefined where there is none. It is listed once for many parts: to look at all of
     * them at each would take longer with each. `anew`: listed now, whatever is known.
     */
    arrived(
      uploadId: string,
      list: () => Promise<readonly Part[] | undefined>,
      { anew = false }: { anew?: boolean } = {},
    ): Promise<Sizes | undefined> {
      const at = clock.monotonic();
      for (const [id, listed] of lists) {
        if (at - listed.at < LISTED_MS) break;
        lists.delete(id);
      }
      const known = lists.get(uploadId);
      if (known && !anew) return known.sizes;
      const sizes = list().then((parts) => parts && new Map(parts.map(({ number, bytes }) => [number, bytes])));
      const mine = { at, sizes };
      lists.delete(uploadId);
      lists.set(uploadId, mine);
      const forget = () => lists.get(uploadId) === mine && lists.delete(uploadId);
      void sizes.then((found) => found ?? forget(), forget);
      return sizes;
    },
    begin({ uploadId, number }: { uploadId: string; number: number }, bytes: number, stop: () => void): Sending {
      const parts = uploads.get(uploadId) ?? new Map<number, { bytes: number; stop(): void }>();
      uploads.set(uploadId, parts);
      parts.get(number)?.stop();
      const mine = { bytes, stop };
      parts.set(number, mine);
      return {
        bytesWith(arrived) {
          let total = 0;
          for (const one of parts.values()) total += one.bytes;
          for (const [other, size] of arrived) if (!parts.has(other)) total += size;
          return total;
        },
        async arrived(part) {
          const sizes = await lists.get(uploadId)?.sizes.catch(() => undefined); // whoever listed is told
          sizes?.set(number, part.bytes);
        },
        [Symbol.dispose]() {
          if (parts.get(number) !== mine) return; // another sending took its place
          parts.delete(number);
          if (parts.size === 0) uploads.delete(uploadId);
        },
      };
    },
  };
}
