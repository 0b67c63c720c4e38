import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { type Kernel, START } from './kernel.ts';
import { Random } from '../support/random.ts';

// Replaces time and randomness of this whole process, which does nothing but simulate: the product's kernel, its driver
// of the database and whatever bypasses them are then in virtual time. Import it before anything else.

let kernel: Kernel | undefined;
let random = new Random(0, 'bytes');
let fills = 0;

const RealDate = Date;
const wall = () => kernel?.wall() ?? START;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, as) =>
    Reflect.construct(target, given.length === 0 ? [wall()] : given, as as typeof RealDate) as Date,
  apply: () => new RealDate(wall()).toString(),
  get: (target, name) => (name === 'now' ? wall : Reflect.get(target, name)),
});
performance.now = () => kernel?.monotonic() ?? 0;
Math.random = () => random.next();

const realClear = clearTimeout;
/** A timer as Node hands it out. */
class Timeout {
  stop: () => void = () => {};
  ref = () => this;
  unref = () => this;
  hasRef = () => true;
  refresh = () => this;
  close = () => (this.stop(), this);
  [Symbol.dispose] = () => this.stop();
  [Symbol.toPrimitive] = () => 0;
}
type Callback = (...given: unknown[]) => void;
const timersLike =
  (real: (work: Callback, ms: number, ...given: unknown[]) => NodeJS.Timeout, repeats: boolean) =>
  (work: Callback, ms = 0, ...given: unknown[]): Timeout | NodeJS.Timeout => {
    if (!kernel) return real(work, ms, ...given);
    const timer = new Timeout();
    const [mine, { current }] = [kernel, kernel];
    const wait = () => {
      timer.stop = mine.after(Math.max(1, ms), current, 'timer', () => {
        if (repeats) wait();
        work(...given);
      });
    };
    wait();
    return timer;
  };
const clear = (timer?: Timeout | NodeJS.Timeout) => (timer instanceof Timeout ? timer.stop() : realClear(timer));
Object.assign(globalThis, {
  setTimeout: timersLike(setTimeout, false),
  setInterval: timersLike(setInterval, true),
  clearTimeout: clear,
  clearInterval: clear,
});

const fill = <T extends NodeJS.ArrayBufferView>(into: T): T => {
  fills += 1;
  random.write(new Uint8Array(into.buffer, into.byteOffset, into.byteLength));
  return into;
};
const bytesOf = (length: number): Buffer => fill(Buffer.alloc(length));
const uuid = () => {
  const bytes = bytesOf(16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};
const randomBytes = (length: number, done?: (error: null, bytes: Buffer) => void) => {
  if (!done) return bytesOf(length);
  queueMicrotask(() => done(null, bytesOf(length)));
  return undefined;
};
Object.assign(crypto, {
  randomBytes,
  randomFillSync: fill,
  randomUUID: uuid,
  randomInt: (least: number, end?: number) =>
    end === undefined ? random.below(least) : least + random.below(end - least),
});
syncBuiltinESMExports();
Object.defineProperties(globalThis.crypto, { randomUUID: { value: uuid }, getRandomValues: { value: fill } });

/**
 * From now on time and randomness are those of this simulation. `drain` uses up what was fetched beforehand, until it
 * fetches anew: nothing of an earlier simulation is left.
 */
export function simulate(next: Kernel, drain: () => void): void {
  kernel = next;
  random = new Random(next.seed, 'bytes');
  for (const before = fills; fills === before;) drain();
}
/** Time is real again. */
export function endSimulation(): void {
  kernel = undefined;
}
