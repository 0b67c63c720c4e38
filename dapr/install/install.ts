import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildFromSource } from './build.ts';
import { cacheFolder, type Found, locate, versionOf } from './find.ts';
import { holdLock } from './lock.ts';
import { downloadRelease } from './release.ts';
import { DAPR_VERSION, type Environment, PROGRAMS, type Say } from './version.ts';

export interface InstallOptions {
  environment: Environment;
  say: Say;
  signal?: AbortSignal;
  /** Where the release archives lie; tests have their own. */
  releases?: string;
  /** The ways to make what is not there, in order. */
  ways?: readonly Way[];
}
type Way = 'release' | 'build';

const MAKING = '.making-';
const NO_WAY =
  `Dapr ${DAPR_VERSION} is not on this machine and could not be made: run \`dapr init --slim --runtime-version ${DAPR_VERSION}\` with the Dapr CLI, ` +
  'or install Go 1.26.6 or newer and run `npm run dapr:install` again, or put daprd, placement and scheduler into a folder and name it in DAPR_BIN_DIR.';

/**
 * Finds daprd, placement and scheduler 1.18.3 or makes them in the cache. Safe to interrupt, to repeat and to run twice
 * at once.
 */
export async function installDapr(options: InstallOptions): Promise<Found> {
  const { environment, say } = options;
  const found = await locate(environment, say);
  if (found) return found;

  const cache = cacheFolder(environment);
  await using _lock = await holdLock(join(cache, `${DAPR_VERSION}.lock`), () =>
    say('another run is at it, waiting for it to end'),
  );
  const meanwhile = await locate(environment);
  if (meanwhile) return meanwhile;

  for (const left of await readdir(cache))
    if (left.startsWith(MAKING)) await rm(join(cache, left), { recursive: true, force: true });
  const making = join(cache, MAKING + process.pid);
  const reasons: string[] = [];
  try {
    for (const way of options.ways ?? ['release', 'build']) {
      const folder = join(making, way);
      try {
        await mkdir(making, { recursive: true });
        if (way === 'release') await downloadRelease(folder, options);
        else await buildFromSource(folder, join(making, 'work'), options);
        await mustRun(folder);
      } catch (error) {
        options.signal?.throwIfAborted();
        reasons.push(`${way}: ${error instanceof Error ? error.message : String(error)}`);
        say(reasons.at(-1)!);
        continue;
      }
      const place = join(cache, DAPR_VERSION);
      await rm(place, { recursive: true, force: true }); // only there when somebody took a program out of it
      await rename(folder, place);
      const made = await locate(environment);
      if (made)
        return {
          ...made,
          from:
            way === 'release' ? `the release archives, now in ${place}` : `a build from Go modules, now in ${place}`,
        };
    }
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  throw new Error(NO_WAY, { cause: reasons });
}

/** What was downloaded or built must say that it is the version that was asked for, before it is put in place. */
async function mustRun(folder: string): Promise<void> {
  for (const program of PROGRAMS) {
    const version = await versionOf(join(folder, program + (process.platform === 'win32' ? '.exe' : '')));
    if (version !== DAPR_VERSION)
      throw new Error(`${program} calls itself ${version ?? 'nothing'}, not ${DAPR_VERSION}`);
  }
}
