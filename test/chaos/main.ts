// npm run chaos -- [--depth short|full] [--only f05,f07] [--again]
// Runs the files of this folder, and those elsewhere whose tests cite a goal, one after another, and keeps
// each that has ended in .cache/chaos-<depth>.json: a start after an end goes on with the rest, --again begins anew. At
// full depth all of it takes hours. Prints a table of the files with the posts of their waves, and a line of JSON for
// each goal.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { findDapr, installDapr } from '../../dapr/install/index.ts';
import {
  chaosTable,
  type ChaosRun,
  chosenFiles,
  citedBy,
  countsOf,
  DEPTHS,
  figuresOf,
  filesOfGoals,
  forgetRuns,
  goalLines,
  goalsOf,
  keepRuns,
  keptRuns,
  postsOf,
  readChaosArguments,
  type TestReport,
} from '../../scripts/chaos-runs.ts';
import { jest } from '../../scripts/jest.ts';
import { endDescendants } from '../bench/kit/processes.ts';

interface Report {
  testResults: { assertionResults: TestReport[] }[];
}

const say = (line: string) => void process.stdout.write(`${line}\n`);
const others = globSync('{test,src,actors,api}/**/*.test.ts', { exclude: ['test/chaos/**', '**/node_modules/**'] });
const files = [...globSync('test/chaos/*.test.ts').toSorted(), ...filesOfGoals(others.toSorted())];

if (process.argv.includes('--help')) {
  say(`Usage: npm run chaos -- [--depth ${DEPTHS.join('|')}] [--only f05,f07] [--again]`);
  process.exit(0);
}
function readArguments(): ReturnType<typeof readChaosArguments> {
  try {
    return readChaosArguments(process.argv.slice(2), files);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}
const options = readArguments();
const chosen = chosenFiles(files, options);
const kept = `.cache/chaos-${options.depth}.json`;

/** Runs one file; undefined: the test runner did not come to its end. */
async function runFile(file: string): Promise<ChaosRun | undefined> {
  const report = `.cache/chaos-${process.pid}.json`;
  rmSync(report, { force: true });
  const ours = ['--forceExit', '--runInBand', '--json', `--outputFile=${report}`, '--runTestsByPath', file];
  const { seconds, output } = await jest('chaos', ours, { live: true, keeps: true });
  if (!existsSync(report)) return undefined;
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  rmSync(report);
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  if (tests.length === 0) return undefined; // it could not be loaded
  const titles = tests.map(({ fullName }) => fullName);
  const counts = { ...countsOf(tests), goals: goalsOf(tests) };
  return { file, ...citedBy(file, titles), ...counts, figures: figuresOf(output), posts: postsOf(output), seconds };
}

mkdirSync('.cache', { recursive: true });
if (options.again) forgetRuns(kept, chosen);
const done = keptRuns(kept).filter(({ file }) => chosen.includes(file));
if (done.length > 0)
  say(`${done.length} of ${chosen.length} files have ended in an earlier start (--again begins anew)`);
const left = chosen.filter((file) => !done.some((run) => run.file === file));
if (left.length > 0 && !(await findDapr()))
  // its tests skip by name, or fail under DAPR_REQUIRED=1
  await installDapr({ environment: process.env, say }).catch((error: Error) => say(`Dapr: ${error.message}`));
process.env['CHAOS_DEPTH'] = options.depth;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    endDescendants();
    process.exit(2);
  });

const broken: string[] = [];
for (const file of left) {
  const run = await runFile(file);
  if (run) keepRuns(kept, [run]);
  else broken.push(file);
}

const runs = keptRuns(kept).filter(({ file }) => chosen.includes(file));
const sorted = runs.toSorted((a, b) => a.file.localeCompare(b.file));
say(`\n${chaosTable(sorted)}\n`);
for (const line of goalLines(sorted)) say(line);
for (const file of broken) say(`did not run: ${file}`);
process.exitCode = broken.length > 0 || runs.some(({ failed }) => failed > 0) ? 1 : 0;
