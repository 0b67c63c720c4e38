import { resolve } from 'node:path';
import { type Ran, run, type RunOptions } from './run.ts';

/**
 * Of jest: how long each file took, so that the next run begins with the longest. Kept by CI over its runs; a run
 * without it begins with the largest files.
 */
const DURATIONS = resolve(process.env['CI_STATE_DIR'] ?? '.cache', 'jest');

/** Runs jest under this Node. Processes of a run share what they have compiled, those that tests start included. */
export const jest = (
  name: string,
  args: readonly string[],
  options: Pick<RunOptions, 'live' | 'keeps'> = {},
): Promise<Ran> =>
  run(name, [process.execPath, 'node_modules/jest/bin/jest.js', `--cacheDirectory=${DURATIONS}`, ...args], {
    ...options,
    env: {
      NODE_COMPILE_CACHE: resolve('.cache/compiled'),
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --no-warnings`.trim(),
    },
  });
