// `npm test`: everything. Arguments go to jest as they are (`npm test -- test/chaos`, `npm test -- --selectProjects
// unit`).
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { findDapr, installDapr } from '../dapr/install/index.ts';
import { jest } from './jest.ts';
import { noteUnsteady } from './unsteady.ts';

interface File {
  name: string;
  status: string;
  /** Milliseconds of the epoch. */
  startTime: number;
  endTime: number;
  message: string;
  assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
}

/**
 * A whole run is some ten thousand tests on two cores. One or two files that fail run once more, alone: what passes
 * then is named as unsteady at the end, and is a fault to be mended, of the test or of the product. More than that, and
 * what fails again, is a failure.
 */
const MOST_AGAIN = 2;

/** Files at a time: on two cores one is at work while others wait for what they have started. */
const AT_ONCE = 3;

/** So many of the slowest files does a whole run name: where its time can be won. */
const SLOWEST = 20;

/** So many lines of the reason does the end of the log repeat for each test that failed. */
const LINES_OF_REASON = 20;

/**
 * Files that were unsteady in a run, kept over runs: a whole run in CI fails for one that comes a second time. CI says
 * where its own list lies.
 */
const UNSTEADY = join(process.env['CI_STATE_DIR'] ?? '.cache', 'unsteady.json');

const say = (line: string) => void process.stdout.write(`${line}\n`);
const failedOf = (files: ReadonlyMap<string, File>) => [...files.values()].filter(({ status }) => status === 'failed');
const count = (files: ReadonlyMap<string, File>, ...wanted: string[]) =>
  [...files.values()].reduce(
    (sum, { assertionResults }) => sum + assertionResults.filter(({ status }) => wanted.includes(status)).length,
    0,
  );

/** Runs jest and notes what it says of each file; false when it did not get so far, or failed though no file did. */
async function runFiles(args: readonly string[], files: Map<string, File>): Promise<boolean> {
  const report = `.cache/jest-${process.pid}.json`;
  rmSync(report, { force: true });
  // ours first: what follows a `--` is a path
  // a handle that some file left open would keep the process after the last one
  const { status } = await jest('tests', ['--forceExit', '--json', `--outputFile=${report}`, ...args], { live: true });
  if (!existsSync(report)) return false;
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as { testResults: File[] };
  rmSync(report);
  for (const file of testResults) files.set(file.name, file);
  return status === 0 || failedOf(files).length > 0;
}

if (!(await findDapr()))
  // its tests skip by name, or fail under DAPR_REQUIRED=1
  await installDapr({ environment: process.env, say }).catch((error: Error) => say(`Dapr: ${error.message}`));

mkdirSync('.cache', { recursive: true });
const given = process.argv.slice(2);
const files = new Map<string, File>();
let ran = await runFiles(given.length > 0 ? given : ['--maxWorkers', String(AT_ONCE)], files);

const first = failedOf(files);
if (given.length === 0 && first.length > 0 && first.length <= MOST_AGAIN)
  ran = (await runFiles(['--runInBand', '--runTestsByPath', ...first.map(({ name }) => name)], files)) && ran;

/** Paths among the arguments: what has a slash, and is neither an option nor the value of one. */
const paths = given.filter(
  (arg, n) => arg.includes('/') && !arg.startsWith('-') && !/^-(t|-testNamePattern)$/.test(given[n - 1] ?? ''),
);
const untested = paths.filter((path) => ![...files.keys()].some((name) => new RegExp(path, 'i').test(name)));
for (const path of untested) say(`no test file: ${path}`);
ran &&= untested.length === 0;

/** The reason again, where the end of a long log is all that is looked at. */
const beginningOf = ([message = '']: readonly string[]): string =>
  stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, LINES_OF_REASON)
    .map((line) => `    ${line.slice(0, 200)}`)
    .join('\n');

const last = failedOf(files);
for (const { name, message, assertionResults } of last)
  if (assertionResults.length === 0) say(`did not run: ${name}\n${message}`);
  else
    for (const { fullName, status, failureMessages = [] } of assertionResults)
      if (status === 'failed') say(`failed: ${relative('.', name)} › ${fullName}\n${beginningOf(failureMessages)}`);
const unsteady = first
  .filter(({ name }) => !last.some((file) => file.name === name))
  .map(({ name }) => relative('.', name));
for (const name of unsteady) say(`unsteady, passed alone: ${name}`);
const again = noteUnsteady(UNSTEADY, unsteady);
for (const name of again) say(`unsteady for the second time: ${name} (mend it, then take it out of ${UNSTEADY})`);

if (given.length === 0) {
  const seconds = [...files.values()].map(({ name, startTime, endTime }) => ({
    name,
    s: (endTime - startTime) / 1000,
  }));
  for (const { name, s } of seconds.sort((a, b) => b.s - a.s).slice(0, SLOWEST))
    say(`${s.toFixed(0).padStart(5)} s  ${relative('.', name)}`);
}

const failed = (count(files, 'failed') || (last.length > 0 || !ran ? 1 : 0)) + (process.env['CI'] ? again.length : 0);
const skipped = count(files, 'pending');
say(`\n${unsteady.length} unsteady${skipped ? `, ${skipped} skipped` : ''}`);
say(`${count(files, 'passed')} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
