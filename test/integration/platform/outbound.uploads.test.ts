import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openOutbound, type Outbound, type OutboundRequest } from '../../../src/platform/outbound/index.ts';
import { failed } from '../../support/worlds/guarded.ts';
import { startSlowReceiver } from '../../support/wire/slow-receiver.ts';

// Streams that are sent to receivers which take them slowly, or not at all.

let outbound: Outbound;
beforeAll(() => void (outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] })));
afterAll(async () => outbound[Symbol.asyncDispose]());

const PIECE = Buffer.alloc(64 * 1024);
/** More than the system keeps for a receiver that takes nothing. */
const PIECES = 1_024;
const BYTES = PIECES * PIECE.length;

/** A stream, and how it ended. `restMs`: of its source, before each piece; `pieces`: how long one is, in pieces. */
function stream({ restMs = 0, pieces = 1 } = {}) {
  const seen = { read: 0, isClosed: false };
  const piece = Buffer.alloc(pieces * PIECE.length);
  async function* from() {
    try {
      for (; seen.read < BYTES; seen.read += piece.length) {
        if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
        yield piece;
      }
    } finally {
      seen.isClosed = true;
    }
  }
  return { seen, body: { from: { [Symbol.asyncIterator]: from }, bytes: BYTES } };
}
async function timed<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const begun = performance.now();
  const result = await work;
  return { result, ms: performance.now() - begun };
}
const put = (url: string, request: OutboundRequest) => outbound.fetch(url, { method: 'PUT', ...request });
const LONG_MS = 60_000;

describe('a stream that is sent within limits', () => {
  test('takes as long as its receiver does, which goes on taking it', async () => {
    await using slow = await startSlowReceiver(() => 2);
    const { body } = stream();
    const upload = { bytesPerMs: BYTES / LONG_MS, silenceMs: 5_000 };
    const { result, ms } = await timed(put(slow.url, { body, timeoutMs: 500, upload }));
    expect(result.text()).toBe(String(BYTES));
    expect(ms).toBeGreaterThan(1_000); // else it shows nothing
  });

  test('ends when nothing is taken for as long as silence may last, and its source is closed', async () => {
    await using silent = await startSlowReceiver((received) => (received > 1_000_000 ? 'never' : 0));
    const { body, seen } = stream();
    const upload = { bytesPerMs: BYTES / LONG_MS, silenceMs: 400 };
    const { result, ms } = await timed(failed(put(silent.url, { body, timeoutMs: LONG_MS, upload })));
    expect(result).toMatchObject({ failure: 'timeout', sent: true });
    expect(ms).toBeGreaterThan(350);
    expect(ms).toBeLessThan(10_000);
    expect(seen.isClosed).toBe(true);
    expect(seen.read).toBeLessThan(BYTES);
  });

  test('ends at the bound on the whole, however steadily it is taken', async () => {
    await using slow = await startSlowReceiver(() => 20);
    const { body, seen } = stream();
    const upload = { bytesPerMs: BYTES / 1_000, silenceMs: LONG_MS };
    const { result, ms } = await timed(failed(put(slow.url, { body, timeoutMs: 500, upload })));
    expect(result).toMatchObject({ failure: 'timeout', sent: true });
    expect(ms).toBeGreaterThan(1_400);
    expect(ms).toBeLessThan(8_000);
    expect(seen.read).toBeLessThan(BYTES);
  });

  test('is answered within the time of its call once it is taken', async () => {
    await using mute = await startSlowReceiver(
      () => 0,
      () => {},
    );
    const { body } = stream();
    // after its end there are 500 ms, and 4 s for what the system may still keep of it
    const upload = { bytesPerMs: BYTES / LONG_MS, silenceMs: LONG_MS };
    const { result, ms } = await timed(failed(put(mute.url, { body, timeoutMs: 500, upload })));
    expect(result).toMatchObject({ failure: 'timeout', sent: true });
    expect(ms).toBeGreaterThan(4_000);
    expect(ms).toBeLessThan(20_000);
    expect(mute.taken).toEqual([BYTES]);
  });

  test('waits for its own source within the whole alone', async () => {
    await using quick = await startSlowReceiver(() => 0);
    const { body } = stream({ restMs: 4_500, pieces: PIECES / 2 });
    // far below what the source rests, and far above what a busy machine may
    const upload = { bytesPerMs: BYTES / LONG_MS, silenceMs: 3_000 };
    const result = await put(quick.url, { body, timeoutMs: 3_000, upload });
    expect(result.text()).toBe(String(BYTES));
  });
});
