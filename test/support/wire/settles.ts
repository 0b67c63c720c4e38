import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a check no longer throws; fails with its last words. */
export async function settles(check: () => unknown, withinMs = 20_000): Promise<void> {
  for (const end = performance.now() + withinMs; ;) {
    try {
      return void (await check());
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(5);
    }
  }
}
