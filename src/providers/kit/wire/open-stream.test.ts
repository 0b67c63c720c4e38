import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { Outbound } from '../../../platform/outbound/index.ts';
import { openStream } from './open-stream.ts';

const LIMITS = { bytesPerMs: 1, silenceMs: 2_000, graceMs: 200 };

/** A server that sends so many pieces of so many bytes, each after a wait. */
function sender(pieces: number, { bytes, everyMs }: { bytes: number; everyMs: number }): Pick<Outbound, 'stream'> {
  async function* body(signal: AbortSignal | undefined) {
    for (let n = 0; n < pieces; n += 1) {
      await sleep(everyMs, undefined, { signal });
      yield new Uint8Array(bytes);
    }
  }
  const head = { status: 200, headers: new Headers(), url: '', cancel: () => undefined };
  return { stream: async (_, request) => ({ ...head, body: body(request?.signal) }) };
}
async function read(outbound: Pick<Outbound, 'stream'>, slowlyMs = 0): Promise<number> {
  const { body } = await openStream(outbound, 1_000, LIMITS)('https://a.example');
  let pieces = 0;
  for await (const _ of body) {
    pieces += 1;
    await sleep(slowlyMs);
  }
  return pieces;
}

describe('the body of a stream', () => {
  test('fails where it drips, though the server is never silent for long', async () => {
    await expect(read(sender(1_000, { bytes: 1, everyMs: 20 }))).rejects.toMatchObject({ failure: 'timeout' });
  });

  test('may last as long as its bytes take at the least rate', async () => {
    expect(await read(sender(20, { bytes: 1_000, everyMs: 20 }))).toBe(20);
  });

  test('is not judged by how slowly it is read', async () => {
    expect(await read(sender(20, { bytes: 1, everyMs: 0 }), 20)).toBe(20);
  });
});
