import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../wire/eventually.ts';

/** A wall clock beside the right one. */
export interface HostTime {
  /** How much it is ahead when it is set. */
  shiftMs: number;
  /** Its seconds in a right one, from then on. */
  pace: number;
}
export const RIGHT: HostTime = { shiftMs: 0, pace: 1 };

/** A wall clock for one process. */
export interface HostClock extends Disposable {
  /** Gives a process this clock. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends when the process has it. */
  set(time: HostTime): Promise<void>;
}

/** Such a process lives where there is daylight saving time. */
const ZONE = 'Europe/Berlin';

/** `nodeOptions`: those that its process has besides. */
export function hostClock(nodeOptions = ''): HostClock {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-clock-'));
  const file = join(folder, 'clock');
  const program = new URL('./host-clock.ts', import.meta.url).href;
  let sets = 0;
  const write = (time: HostTime) => {
    const text = JSON.stringify({ ...time, n: ++sets });
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file); // whole at any moment
    return text;
  };
  write(RIGHT);
  return {
    env: { TZ: ZONE, HOST_CLOCK: file, NODE_OPTIONS: `--import=${program} ${nodeOptions}`.trim() },
    async set(time) {
      const text = write(time);
      await eventually('the clock is set', () => readFileSync(`${file}.set`, 'utf8') === text);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
