import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseArgs } from 'node:util';

// The parts of `npm run chaos`: its arguments, what it keeps between two starts, its table, and a line for each goal.

export const DEPTHS = ['short', 'full'] as const;
export interface ChaosOptions {
  depth: (typeof DEPTHS)[number];
  /** Beginnings of names, `f05` or `drain`; empty: every file. */
  only: readonly string[];
  /** Forgets what was kept of the files that it runs. */
  again: boolean;
}
/** How many tests ended in which way. */
interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}
/** What became of one file. */
export interface ChaosRun extends Counts {
  file: string;
  faults: readonly string[];
  invariants: readonly string[];
  /** Of the tests whose titles cite a goal, by that goal. */
  goals: Readonly<Record<string, Counts>>;
  /** The greatest of each figure that its tests have printed. */
  figures: Readonly<Record<string, number>>;
  /** Posts of its waves that were acknowledged and came to an end, by engine. */
  posts?: Posts;
  seconds: number;
}
export type Posts = Readonly<Record<'embedded' | 'dapr', number>>;
/** What jest says of one test. */
export interface TestReport {
  status: string;
  fullName: string;
}

/** The goals of reliability. */
export const GOALS: readonly string[] = Array.from({ length: 20 }, (_, n) => `R${n + 1}`);
/** What holds after every fault. */
export const INVARIANTS: readonly string[] = Array.from({ length: 12 }, (_, n) => `I${n + 1}`);
/** Codes stand in brackets at the end of a title. */
const CODES = /\[([A-Z]{1,2}\d{1,3}(?:, ?[A-Z]{1,2}\d{1,3})*)\]/g;
const goalsIn = (text: string): string[] =>
  [...text.matchAll(CODES)].flatMap(([, list]) => list!.split(/, ?/)).filter((code) => GOALS.includes(code));

/** Those of the files that show a goal. */
export const filesOfGoals = (files: readonly string[]): string[] =>
  files.filter((file) => goalsIn(readFileSync(file, 'utf8')).length > 0);

export function countsOf(tests: readonly TestReport[]): Counts {
  const count = (...wanted: string[]) => tests.filter(({ status }) => wanted.includes(status)).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('pending', 'todo', 'disabled') };
}
/** How many tests of each goal ended in which way. */
export function goalsOf(tests: readonly TestReport[]): Record<string, Counts> {
  const byGoal = new Map<string, TestReport[]>();
  for (const one of tests)
    for (const goal of new Set(goalsIn(one.fullName))) byGoal.set(goal, [...(byGoal.get(goal) ?? []), one]);
  return Object.fromEntries([...byGoal].map(([goal, ones]) => [goal, countsOf(ones)]));
}
/** What is no figure of its own: a seed, and what `postsOf` adds up. */
const NO_FIGURES = new Set(['CHAOS_SEED', 'settled']);
/** The greatest of each number in the lines of JSON that tests have printed. */
export function figuresOf(output: string): Record<string, number> {
  const greatest: Record<string, number> = {};
  for (const line of linesOf(output))
    for (const [name, value] of Object.entries(line))
      if (typeof value === 'number' && !NO_FIGURES.has(name))
        greatest[name] = Math.max(value, greatest[name] ?? -Infinity);
  return greatest;
}
/** The posts that tests have printed as settled, by engine. */
export function postsOf(output: string): Posts {
  const lines = linesOf(output) as { engine?: unknown; settled?: unknown }[];
  return byEngine((engine) =>
    sum(lines.map((line) => (line.engine === engine && typeof line.settled === 'number' ? line.settled : 0))),
  );
}
const byEngine = (count: (engine: keyof Posts) => number): Posts => ({
  embedded: count('embedded'),
  dapr: count('dapr'),
});
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const linesOf = (output: string): object[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{"'))
    .map(parsed);
function parsed(line: string): object {
  try {
    return JSON.parse(line) as object;
  } catch {
    return {}; // something else that begins so
  }
}

const allPosts = (runs: readonly ChaosRun[]): Posts =>
  byEngine((engine) => sum(runs.map(({ posts }) => posts?.[engine] ?? 0)));

/** A line of JSON for each goal: its files, the tests that cite it, and the posts and figures that its files have printed. */
export function goalLines(runs: readonly ChaosRun[]): string[] {
  return GOALS.map((goal) => {
    const ours = runs.filter(({ goals }) => goals[goal]);
    const count = (part: keyof Counts) => sum(ours.map(({ goals }) => goals[goal]![part]));
    const posts = allPosts(ours);
    const figures = ours.filter(({ figures: own }) => Object.keys(own).length > 0);
    return JSON.stringify({
      goal,
      files: ours.map(({ file }) => file),
      passed: count('passed'),
      failed: count('failed'),
      skipped: count('skipped'),
      ...(posts.embedded + posts.dapr > 0 && { posts }),
      ...(figures.length > 0 && {
        figures: Object.fromEntries(figures.map(({ file, figures: own }) => [nameOf(file), own])),
      }),
    });
  });
}

const nameOf = (file: string): string => basename(file, '.test.ts');
/** `f05` is f05-database, and never f051-other. */
const isMeant = (file: string, one: string): boolean =>
  nameOf(file) === one || nameOf(file).startsWith(`${one}-`) || nameOf(file).startsWith(`${one}.`);

/** Throws an error that is a sentence for whoever typed the arguments. */
export function readChaosArguments(args: readonly string[], files: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      depth: { type: 'string', default: 'short' },
      only: { type: 'string', default: '' },
      again: { type: 'boolean', default: false },
    },
  });
  const depth = DEPTHS.find((one) => one === values.depth);
  if (!depth) throw new Error(`There is no depth ${JSON.stringify(values.depth)}: it is ${DEPTHS.join(' or ')}`);
  const only = values.only.split(',').filter(Boolean);
  const unknown = only.find((one) => !files.some((file) => isMeant(file, one)));
  if (unknown !== undefined)
    throw new Error(`No file is named ${JSON.stringify(unknown)}: there are ${files.map(nameOf).join(', ')}`);
  return { depth, only, again: values.again };
}

export const chosenFiles = (files: readonly string[], { only }: Pick<ChaosOptions, 'only'>): string[] =>
  files.filter((file) => only.length === 0 || only.some((one) => isMeant(file, one)));

const byNumber = (a: string, b: string) => Number(a.slice(1)) - Number(b.slice(1));
const codesIn = (text: string, letter: 'F' | 'I'): string[] => text.match(new RegExp(`\\b${letter}\\d+\\b`, 'g')) ?? [];
const distinct = (codes: readonly string[]): string[] => [...new Set(codes)].toSorted(byNumber);

/** Waves that go through one of these are judged by every invariant, and have matter for each. */
const JUDGES_ALL = /\b(?:brokenBy|testOnDapr|unjudgedIn)\(/;

/**
 * The faults that a file names, in the titles of its tests or in its text, and the invariants by which it judges: those
 * that it names, or all.
 */
export function citedBy(file: string, titles: readonly string[]): Pick<ChaosRun, 'faults' | 'invariants'> {
  const own = [...titles, readFileSync(file, 'utf8')].join('\n');
  return {
    faults: distinct(codesIn(own, 'F')),
    invariants: JUDGES_ALL.test(own) ? INVARIANTS : distinct(codesIn(own, 'I')),
  };
}

/** What earlier starts have finished. */
export const keptRuns = (path: string): ChaosRun[] =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as ChaosRun[]) : [];

/** Adds runs to what is kept, each in the place of an earlier one of its file. */
export function keepRuns(path: string, runs: readonly ChaosRun[]): void {
  const others = keptRuns(path).filter(({ file }) => !runs.some((run) => run.file === file));
  writeRuns(path, [...others, ...runs]);
}
/** Takes the runs of these files out of what is kept. */
export const forgetRuns = (path: string, files: readonly string[]): void =>
  writeRuns(
    path,
    keptRuns(path).filter(({ file }) => !files.includes(file)),
  );
function writeRuns(path: string, runs: readonly ChaosRun[]): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(runs, null, 1)}\n`);
}

const HEAD = ['file', 'faults', 'invariants', 'result', 'posts, embedded', 'posts, dapr', 'seconds'];
const FIRST_NUMBER = 4;

/** A line for each run, and one for all of them. */
export function chaosTable(runs: readonly ChaosRun[]): string {
  const count = (part: keyof Counts) => sum(runs.map((run) => run[part]));
  const seconds = sum(runs.map((run) => run.seconds));
  const lineOf = (name: string, faults: string, invariants: string, counts: Counts, posts: Posts, took: number) => [
    name,
    faults,
    invariants,
    resultOf(counts),
    String(posts.embedded),
    String(posts.dapr),
    took.toFixed(0),
  ];
  const cells = [
    HEAD,
    ...runs.map((run) =>
      lineOf(nameOf(run.file), run.faults.join(' '), run.invariants.join(' '), run, allPosts([run]), run.seconds),
    ),
    lineOf(
      `in all ${runs.length}`,
      String(new Set(runs.flatMap(({ faults }) => faults)).size),
      String(new Set(runs.flatMap(({ invariants }) => invariants)).size),
      { passed: count('passed'), failed: count('failed'), skipped: count('skipped') },
      allPosts(runs),
      seconds,
    ),
  ];
  const widths = HEAD.map((_, n) => Math.max(...cells.map((row) => row[n]!.length)));
  const padded = (cell: string, n: number) => (n >= FIRST_NUMBER ? cell.padStart(widths[n]!) : cell.padEnd(widths[n]!));
  return cells.map((row) => row.map(padded).join('  ')).join('\n');
}
const resultOf = ({ passed, failed, skipped }: Counts): string =>
  [`${passed} passed`, ...(failed ? [`${failed} failed`] : []), ...(skipped ? [`${skipped} skipped`] : [])].join(', ');
