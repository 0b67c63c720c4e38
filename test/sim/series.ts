import { type Figures, judge, sumOf } from './coverage.ts';
import { buildTemplate, copyTemplate } from './database.ts';
import { START } from './kernel.ts';
import type { Simulation } from './known.ts';
import { runSeed } from './run.ts';
import { type Fault, FAULTS } from './swarm.ts';

interface SeriesOptions {
  from: number;
  seeds: number;
  /** One in so many of them; other processes have the others. */
  every: number;
  /** Each of the first `replayed` seeds runs so often, and has to have the same hash each time. */
  replays: number;
  replayed: number;
  without: readonly string[];
  acts: number | undefined;
  /** Of a trace that are shown. */
  lines: number;
  /** Shows the trace whatever came of it. */
  isTraced: boolean;
  json: boolean;
  say(line: string): void;
}
type Run = (seed: number, without?: readonly Fault[], acts?: number) => Promise<Simulation>;

const DAY = 86_400_000;
/** Runs that are made to find a smaller one that fails as well. */
const MOST_SHRINKS = 16;
/** The wall clock of the machine: how long a seed takes is the only real time that is told. */
const realMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

/** Runs seeds one after the other until one fails, which is shrunk and shown. Answers the exit code. */
export async function simulateAll(options: SeriesOptions): Promise<number> {
  const { from, seeds, every, replays, replayed, lines, isTraced, json, say } = options;
  const given = process.env['SIM_TEMPLATE'];
  await using built = given === undefined ? await buildTemplate(`rookery_sim_${process.pid}`) : undefined;
  const template = given ?? built!.name;
  await using database = await copyTemplate(template, `${template}_${process.pid}`);
  const leftOut = FAULTS.filter((fault) => options.without.includes(fault));
  const run: Run = (seed, without = leftOut, acts = options.acts) => runSeed({ seed, without, acts }, database);
  let seen: Figures['seen'] = {};
  const hashes = new Map<number, string>();
  let [virtualMs, steps, runs] = [0, 0, 0];
  const begun = realMs();

  for (let seed = from; seed < from + seeds; seed += every) {
    const done = await run(seed);
    runs += 1;
    virtualMs += done.virtualMs;
    steps += done.steps;
    hashes.set(seed, done.hash);
    seen = sumOf(seen, done.seen);
    if (done.violation !== undefined) {
      report(json ? done : await shrink(done, run, say), lines, say);
      return 1;
    }
    if (isTraced) done.trace.slice(-lines).forEach(say);
  }
  // after all the others, which have left nothing behind
  for (const [seed, first] of hashes) {
    if (seed >= from + replayed || replays < 2) continue;
    for (let n = 2; n <= replays; n++) {
      const { hash } = await run(seed);
      runs += 1;
      if (hash === first) continue;
      say(`seed ${seed}: run ${n} has the hash ${hash}, the first one ${first}`);
      return 1;
    }
    say(`seed ${seed}: ${replays} of ${replays} runs have the hash ${first}`);
  }
  const ms = Math.max(1, realMs() - begun);
  const virtualDays = Math.round((virtualMs / DAY) * 10) / 10;
  const runsPerMinute = Math.round((runs * 60_000) / ms);
  const seconds = Math.round(ms / 1_000);
  return judge({ seeds: hashes.size, runs, steps, virtualDays, seconds, runsPerMinute, seen }, say);
}

/** Leaves out faults and acts as long as it still fails in the same way. */
async function shrink(failed: Simulation, run: Run, say: (line: string) => void): Promise<Simulation> {
  const kindOf = ({ violation = '' }: Simulation) => violation.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+(\.\d+)?/g, '');
  const { seed } = failed.options;
  let least = failed;
  let left = MOST_SHRINKS;
  const fails = async (without: readonly Fault[], acts?: number) => {
    if (left-- <= 0) return false;
    const done = await run(seed, without, acts);
    if (kindOf(done) !== kindOf(failed)) return false;
    least = done;
    return true;
  };
  say(`seed ${seed} fails: ${failed.violation}`);
  for (const fault of failed.faults) await fails([...least.options.without, fault]);
  while (least.acted > 1 && (await fails(least.options.without, Math.floor(least.acted / 2))));
  return least;
}

function report(failed: Simulation, lines: number, say: (line: string) => void): void {
  const { options, violation, trace, virtualMs, steps } = failed;
  const { seed, without, acts } = options;
  trace.slice(-lines).forEach(say);
  say(`failed: ${seed}: ${violation}`);
  const smaller = [
    ...(without.length > 0 ? [`--without ${without.join(',')}`] : []),
    ...(acts === undefined ? [] : [`--acts ${acts}`]),
  ];
  say(`again: npm run sim -- --seed ${seed} ${smaller.join(' ')}`.trimEnd());
  say(`at ${new Date(START + virtualMs).toISOString()}, after ${steps} steps`);
}
