import { resolve } from 'node:path';
import { type Ran, run } from './run.ts';

/** Runs jest under this Node. Processes of a run share what they have compiled, those that tests start included. */
export const jest = (name: string, args: readonly string[], options: { live?: boolean } = {}): Promise<Ran> =>
  run(name, [process.execPath, 'node_modules/jest/bin/jest.js', ...args], {
    ...options,
    env: {
      NODE_COMPILE_CACHE: resolve('.cache/compiled'),
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --no-warnings`.trim(),
    },
  });
