import { afterEach, expect, test } from '@jest/globals';
import { type Deadline, openDeadline, sentWithin } from './upload.ts';

const opened: Deadline[] = [];
afterEach(() => opened.splice(0).forEach((one) => one.clear()));
function deadlineWithin(ms: number) {
  const ends: number[] = [];
  const deadline = openDeadline(ms, () => void ends.push(performance.now()));
  opened.push(deadline);
  return { ends, deadline };
}
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a long piece is handed on in parts, so that a receiver is seen to take them', async () => {
  const piece = Buffer.from(Array.from({ length: 1_000_000 }, (_, n) => n % 251));
  async function* from() {
    yield Buffer.alloc(0);
    yield piece;
    yield piece.subarray(0, 10);
  }
  const { deadline } = deadlineWithin(1_000);
  const within = { deadline, timeoutMs: 1_000, since: performance.now() };
  const parts: Uint8Array[] = [];
  for await (const part of sentWithin(
    { from: from(), bytes: 1_000_010 },
    { bytesPerMs: 1_000, silenceMs: 1_000 },
    within,
  ))
    parts.push(part);
  expect(parts.map(({ length }) => length)).toEqual([262_144, 262_144, 262_144, 213_568, 10]);
  expect(Buffer.concat(parts).equals(Buffer.concat([piece, piece.subarray(0, 10)]))).toBe(true);
});

test('a deadline ends once, where it was moved to last, and not when it was taken away', async () => {
  const begun = performance.now();
  const [moved, cleared] = [deadlineWithin(20), deadlineWithin(20)];
  moved.deadline.moveTo(100);
  cleared.deadline.clear();
  cleared.deadline.moveTo(10);
  await rest(300);
  moved.deadline.moveTo(10); // it is over
  await rest(50);
  expect(moved.ends).toHaveLength(1);
  expect(moved.ends[0]! - begun).toBeGreaterThan(95);
  expect(cleared.ends).toEqual([]);
});

test('a deadline may lie further away than timers reach', async () => {
  const { ends } = deadlineWithin(1e12);
  await rest(20);
  expect(ends).toEqual([]);
});
