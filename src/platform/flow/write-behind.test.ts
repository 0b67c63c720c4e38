import { describe, expect, test } from '@jest/globals';
import { openWriteBehind } from './write-behind.ts';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Writes that end when the test says so. */
function world() {
  const writes: { end(): void; fail(error: Error): void }[] = [];
  const told: unknown[] = [];
  const behind = openWriteBehind({
    afterMs: 5,
    write: () => new Promise<void>((resolve, reject) => writes.push({ end: resolve, fail: reject })),
    onError: (error) => told.push(error),
  });
  return { behind, writes, told };
}
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((look) => setTimeout(look, 1));
}

describe('openWriteBehind', () => {
  test('all notes within the interval are written at once', async () => {
    const { behind, writes } = world();
    behind.soon();
    behind.soon();
    await until(() => writes.length === 1);
    writes[0]!.end();
    behind.soon();
    await until(() => writes.length === 2);
    writes[1]!.end();
  });

  test('writes run one after another; a flush rejects with the error of its write', async () => {
    const { behind, writes, told } = world();
    const first = behind.flush();
    const second = behind.flush();
    await tick();
    expect(writes).toHaveLength(1);
    writes[0]!.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await tick();
    expect(writes).toHaveLength(2);
    writes[1]!.end();
    await second;
    expect(told).toEqual([]);
  });

  test('a failed background write is reported, and the rest is written at the end', async () => {
    const { behind, writes, told } = world();
    behind.soon();
    await until(() => writes.length === 1);
    writes[0]!.fail(new Error('away'));
    const end = behind[Symbol.asyncDispose]();
    await until(() => writes.length === 2);
    writes[1]!.fail(new Error('still away'));
    await end;
    expect(told).toEqual([new Error('away'), new Error('still away')]);
  });
});
