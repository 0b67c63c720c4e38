import { setTimeout as sleep } from 'node:timers/promises';

/** Ends early, with an error, when the user stops the program. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal });
