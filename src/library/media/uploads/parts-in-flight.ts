import type { Part } from '../../../providers/registry/index.ts';

interface Sending extends Disposable {
  /** Bytes of the upload with this part and all others that come here, beside those that have arrived by now. */
  bytesWith(arrived: readonly Part[]): number;
}

/**
 * The parts that come to this process: they count before they have arrived. Of two sendings of one part the later one
 * is meant, and the earlier is stopped.
 */
export function openPartsInFlight() {
  const uploads = new Map<string, Map<number, { bytes: number; stop(): void }>>();
  return {
    begin({ uploadId, number }: { uploadId: string; number: number }, bytes: number, stop: () => void): Sending {
      const parts = uploads.get(uploadId) ?? new Map<number, { bytes: number; stop(): void }>();
      uploads.set(uploadId, parts);
      parts.get(number)?.stop();
      const mine = { bytes, stop };
      parts.set(number, mine);
      const sum = (all: Iterable<{ bytes: number }>) => [...all].reduce((total, one) => total + one.bytes, 0);
      return {
        bytesWith: (arrived) => sum(parts.values()) + sum(arrived.filter((one) => !parts.has(one.number))),
        [Symbol.dispose]() {
          if (parts.get(number) !== mine) return; // another sending took its place
          parts.delete(number);
          if (parts.size === 0) uploads.delete(uploadId);
        },
      };
    },
  };
}
