import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds, and fails by its words when it never does. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 30_000,
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`It did not come to: ${what}`);
    await sleep(10);
  }
}

/** A door that opens once. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}
