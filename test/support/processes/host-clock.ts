// Imported before a program: its wall clock is that of the file that HOST_CLOCK names, which may change at any time. What
// it measures durations by stays right, as on a machine whose wall clock is set.
import { readFileSync, writeFileSync } from 'node:fs';
import type { HostTime } from './host-clocks.ts';

const LOOK_MS = 20;
const file = process.env['HOST_CLOCK']!;
const RealDate = Date;
const real = () => RealDate.now();

let told = '';
let setAt = real();
let time: HostTime = { shiftMs: 0, pace: 1 };
const wall = () => Math.floor(real() + time.shiftMs + (real() - setAt) * (time.pace - 1));

function look(): void {
  const text = readFileSync(file, 'utf8');
  if (text === told) return;
  [told, time, setAt] = [text, JSON.parse(text) as HostTime, real()];
  writeFileSync(`${file}.set`, text);
}
look();
setInterval(look, LOOK_MS).unref();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, as) =>
    Reflect.construct(target, given.length === 0 ? [wall()] : given, as as typeof RealDate) as Date,
  apply: () => new RealDate(wall()).toString(),
  get: (target, name) => (name === 'now' ? wall : Reflect.get(target, name)),
});
