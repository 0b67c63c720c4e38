import { atMost } from '../flow/index.ts';
import type { Turns } from './turn-state.ts';

/** Wakes whoever waits for the last turn or the last background work to end. */
export function becameQuiet({ quiet }: Turns): void {
  for (const wake of quiet.splice(0)) wake();
}

const waitFor = ({ clock, quiet }: Turns, ms: number, done: () => boolean) =>
  atMost(clock, ms, async () => {
    while (!done()) await new Promise<void>((wake) => quiet.push(wake));
  });

/** Ends when running turns and background work have ended, or their time is over. Answers what is left. */
export async function settleTurns(turns: Turns): Promise<{ turns: number; background: number }> {
  const { atWork, background, limits } = turns;
  await waitFor(turns, limits.turnMs, () => atWork.size === 0);
  await waitFor(turns, limits.backgroundMs, () => background.size === 0);
  return { turns: atWork.size, background: background.size };
}
