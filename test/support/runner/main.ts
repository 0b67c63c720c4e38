import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { beginFile } from './globals.ts';

// Jest loads all modules anew for each test file, in a realm of its own: the whole product, some 2 s of CPU each time.
// Here Node loads them, as in production, once for each worker. So modules may keep no state that a test can see, and
// `jest.mock` and coverage of jest do not exist.

type Circus = (
  globalConfig: unknown,
  config: unknown,
  environment: unknown,
  runtime: object,
  file: string,
  tell: unknown,
) => Promise<unknown>;

const require = createRequire(import.meta.url);
const { default: circus } = require('jest-circus/runner') as { default: Circus };
const GLOBALS = new URL('./globals.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context),
});

/** What jest-circus asks of jest's runtime. */
const runtime = {
  /** Of circus itself, which holds the tests of one file: each gets a new one. */
  requireInternalModule(path: string): unknown {
    delete require.cache[path];
    Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS')); // those of the file before
    return require(path);
  },
  requireModule: require,
  setGlobalsForRuntime: beginFile,
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (path: string) => import(pathToFileURL(path).href),
  enterTestCode: () => undefined,
  leaveTestCode: () => undefined,
};

/** Frames that an error notes, of jest's 100: each costs time with every error, those of the product included. */
const FRAMES = 20;

/** The `testRunner` of jest.config.js. */
export default function runFile(...[globalConfig, config, environment, , file, tell]: Parameters<Circus>) {
  // jest has set both for this file: it maps each frame of each stack back through source maps, which are none here
  Error.stackTraceLimit = FRAMES;
  Reflect.deleteProperty(Error, 'prepareStackTrace');
  return circus(globalConfig, config, environment, runtime, file, tell);
}
