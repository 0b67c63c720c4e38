import type * as Jest from '@jest/globals';

// The module that test files and their support get as `@jest/globals`.

type Globals = Pick<
  typeof Jest,
  'afterAll' | 'afterEach' | 'beforeAll' | 'beforeEach' | 'describe' | 'expect' | 'test'
>;

const TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL'); // where jest-circus looks for it
let current: Globals;

/** Begins a file: what support modules imported for the file before now writes into this one. */
export function beginFile(globals: Globals): void {
  current = globals;
  Reflect.deleteProperty(globalThis, TIMEOUT);
}

const ofCurrentFile = <Name extends keyof Globals>(name: Name): Globals[Name] =>
  new Proxy((() => undefined) as unknown as Globals[Name], {
    apply: (_, self, given) => Reflect.apply(current[name], self, given),
    get: (_, key) => Reflect.get(current[name], key) as unknown,
  });

export const afterAll = ofCurrentFile('afterAll');
export const afterEach = ofCurrentFile('afterEach');
export const beforeAll = ofCurrentFile('beforeAll');
export const beforeEach = ofCurrentFile('beforeEach');
export const describe = ofCurrentFile('describe');
export const expect = ofCurrentFile('expect');
export const test = ofCurrentFile('test');
/** Of jest's own object what works without its module registry. */
export const jest = {
  /** Milliseconds for each test and hook of the file. */
  setTimeout: (ms: number) => void Reflect.set(globalThis, TIMEOUT, ms),
};
