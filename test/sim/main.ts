// npm run sim -- [--seeds n] [--from n] [--jobs n] [--seed n] [--replay n [--replayed n]] [--store sql]
// [--bugs [--only 07,26]] [--json]
// --jobs n deals the seeds to n processes; --every n, which they are told, runs one in n seeds.
// --replay n runs each seed n times, or the first ones that --replayed counts; without --seeds only one.
// Of one seed: --without <fault,…> and --acts n make it smaller, --trace n shows so many lines of it.
import { parseArgs } from 'node:util';

await import('./globals.ts'); // before everything of the product

const read = () =>
  parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      jobs: { type: 'string', default: '1' },
      every: { type: 'string', default: '1' },
      replay: { type: 'string' },
      replayed: { type: 'string' },
      store: { type: 'string', default: 'sql' },
      without: { type: 'string', default: '' },
      acts: { type: 'string' },
      trace: { type: 'string', default: '60' },
      bugs: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
    },
  });
function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(2);
}
function readArguments(): ReturnType<typeof read> {
  try {
    return read();
  } catch (error) {
    return refuse((error as Error).message);
  }
}
const { values } = readArguments();
if (values.store !== 'sql')
  refuse(`There is no store ${JSON.stringify(values.store)}: the simulation has one, sql, which is Postgres`);
const seeds = Number(values.seeds ?? ((values.seed ?? values.replay) === undefined ? 100 : 1));
const say = (line: string) => void process.stdout.write(`${line}\n`);
const listOf = (text: string) => text.split(',').filter(Boolean);

const jobs = Number(values.jobs);
const many = {
  from: Number(values.seed ?? values.from),
  seeds,
  replays: Number(values.replay ?? 1),
  replayed: Number(values.replayed ?? seeds),
  say,
};

if (values.bugs) {
  const { findBugs } = await import('./bugs.ts');
  process.exitCode = await findBugs(seeds, jobs, listOf(values.only), say);
} else if (jobs > 1 && seeds > 1) {
  const { simulateInJobs } = await import('./jobs.ts');
  process.exitCode = await simulateInJobs(jobs, { ...many, args: process.argv.slice(2) });
} else {
  const { simulateAll } = await import('./series.ts');
  process.exitCode = await simulateAll({
    ...many,
    every: Number(values.every),
    without: listOf(values.without),
    acts: values.acts === undefined ? undefined : Number(values.acts),
    lines: Number(values.trace),
    isTraced: values.seed !== undefined && values.replay === undefined,
    json: values.json,
  });
}
