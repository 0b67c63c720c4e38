import { type Ran, run } from './run.ts';

/** Runs jest under this Node with ES modules. */
export const jest = (name: string, args: readonly string[], options: { live?: boolean } = {}): Promise<Ran> =>
  run(name, [process.execPath, 'node_modules/jest/bin/jest.js', ...args], {
    ...options,
    env: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --experimental-vm-modules --no-warnings`.trim() },
  });
