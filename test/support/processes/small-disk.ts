import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of a few megabytes. Disposing it takes it away, with what lies on it. */
export interface SmallDisk extends Disposable {
  readonly folder: string;
  /** Takes what is left of its room. */
  fill(): void;
  /** Gives that room back. */
  empty(): void;
}

export function smallDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'rookery-disk', folder], { stdio: 'pipe' });
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  chmodSync(folder, 0o777); // Postgres runs as a user of its own when the tests run as root
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill() {
      const file = openSync(ballast, 'a');
      for (const size of [1_048_576, 4_096]) while (couldWrite(file, size));
      closeSync(file);
    },
    empty: () => rmSync(ballast, { force: true }),
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', folder]); // lazily: what ends may still have files open
      rmSync(folder, { recursive: true });
    },
  };
}

/** Whether there was room for so much. */
function couldWrite(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size, 1)) === size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}

/** Why there can be no small disk on this machine, or undefined. */
export const diskMissing: string | undefined = (() => {
  try {
    smallDisk(1)[Symbol.dispose]();
    return undefined;
  } catch (error) {
    return `a tmpfs cannot be mounted: ${(error as Error).message.split('\n')[0]}`;
  }
})();
