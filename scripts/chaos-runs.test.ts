import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  chaosTable,
  type ChaosRun,
  chosenFiles,
  citedBy,
  figuresOf,
  filesOfGoals,
  forgetRuns,
  goalLines,
  GOALS,
  INVARIANTS,
  goalsOf,
  keepRuns,
  keptRuns,
  postsOf,
  readChaosArguments,
} from './chaos-runs.ts';

const FILES = ['f05-database', 'f07-cuts', 'notices', 'notices.erasure'].map((name) => `test/chaos/${name}.test.ts`);
const runOf = (file: string, more: Partial<ChaosRun> = {}): ChaosRun => ({
  file,
  faults: [],
  invariants: [],
  goals: {},
  figures: {},
  passed: 1,
  failed: 0,
  skipped: 0,
  seconds: 1,
  ...more,
});

describe('readChaosArguments', () => {
  test('takes a depth, names of files and a new beginning; short and every file by itself', () => {
    expect(readChaosArguments([], FILES)).toEqual({ depth: 'short', only: [], again: false });
    expect(readChaosArguments(['--depth', 'full', '--only', 'f05,f07', '--again'], FILES)).toEqual({
      depth: 'full',
      only: ['f05', 'f07'],
      again: true,
    });
  });

  test.each([
    [['--depth', 'deep'], 'There is no depth "deep": it is short or full'],
    [['--only', 'f05,f9'], 'No file is named "f9": there are f05-database, f07-cuts, notices, notices.erasure'],
    [['--only', 'f0'], 'No file is named "f0": '],
    [['--seeds', '3'], "Unknown option '--seeds'"],
    [['f05'], "Unexpected argument 'f05'"],
  ])('refuses %j by a sentence', (args, sentence) => {
    expect(() => readChaosArguments(args, FILES)).toThrow(sentence);
  });
});

test('chosenFiles answers those whose names begin so, up to a - or a .', () => {
  expect(chosenFiles(FILES, { only: [] })).toEqual(FILES);
  expect(chosenFiles(FILES, { only: ['f07', 'notices'] })).toEqual(FILES.slice(1));
  expect(chosenFiles(FILES, { only: ['f07-cuts', 'notices.erasure'] })).toEqual([FILES[1], FILES[3]]);
});

test('what has ended is kept, an end of the same file takes its place, and what runs anew is forgotten', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-chaos-'));
  try {
    const kept = join(folder, 'cache', 'chaos-full.json');
    expect(keptRuns(kept)).toEqual([]);
    keepRuns(kept, [runOf('a'), runOf('b', { failed: 1 })]);
    keepRuns(kept, [runOf('b')]);
    expect(keptRuns(kept)).toEqual([runOf('a'), runOf('b')]);
    forgetRuns(kept, ['a']);
    expect(keptRuns(kept)).toEqual([runOf('b')]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What every wave cites. F11 leaves out I3: what breaks it ends that test before its judgement. */
const EVERY_WAVE = ['I1', 'I2', 'I4', 'I5', 'I6', 'I7', 'I9', 'I10', 'I11'];

test('each file of a fault cites it and the invariants of every wave, and one whose waves are judged by all invariants has all', () => {
  const files = globSync('test/chaos/f*.test.ts');
  expect(files.length).toBeGreaterThan(10);
  const judged = files.filter((file) => {
    const { faults, invariants } = citedBy(file, []);
    const number = Number(/f(\d+)-/.exec(file)![1]);
    expect([file, faults]).toEqual([file, expect.arrayContaining([`F${number}`])]);
    if (/\b(?:violationsOf|testOnDapr|brokenBy)\(/.test(readFileSync(file, 'utf8')))
      expect([file, EVERY_WAVE.filter((one) => !invariants.includes(one))]).toEqual([file, []]);
    return invariants.length === INVARIANTS.length;
  });
  expect(judged.length).toBeGreaterThan(10);
  expect(citedBy(files[0]!, ['F99 and I12 meet']).faults).toContain('F99');
});

test('chaosTable has a line for each file, and the sum of all', () => {
  const runs = [
    runOf(FILES[0]!, {
      faults: ['F5'],
      invariants: ['I1', 'I2'],
      passed: 10,
      posts: { embedded: 20_000, dapr: 0 },
      seconds: 612.4,
    }),
    runOf(FILES[1]!, {
      faults: ['F7'],
      invariants: ['I1'],
      passed: 4,
      failed: 1,
      skipped: 2,
      posts: { embedded: 300, dapr: 24_000 },
      seconds: 8,
    }),
  ];
  expect(
    chaosTable(runs)
      .split('\n')
      .map((line) => line.trimEnd()),
  ).toEqual([
    'file          faults  invariants  result                          posts, embedded  posts, dapr  seconds',
    'f05-database  F5      I1 I2       10 passed                                 20000            0      612',
    'f07-cuts      F7      I1          4 passed, 1 failed, 2 skipped               300        24000        8',
    'in all 2      2       2           14 passed, 1 failed, 2 skipped            20300        24000      620',
  ]);
});

describe('goals', () => {
  const cites = (...codes: string[]) => `[${codes.join(', ')}]`;
  const tests = [
    { status: 'passed', fullName: `a host dies > round 1 of 2: nothing is lost ${cites('R1', 'R2', 'F1')}` },
    { status: 'failed', fullName: `a host dies > round 2 of 2: nothing is lost ${cites('R1', 'R2', 'F1')}` },
    { status: 'pending', fullName: `on Dapr [skipped: no daprd] > nothing is doubled ${cites('R2')}` },
    { status: 'passed', fullName: `R3 is no citation here ${cites('S3')}, nor is ${cites('R99')}` },
  ];

  test('goalsOf counts the tests whose titles cite a goal, by its goal', () => {
    expect(goalsOf(tests)).toEqual({
      R1: { passed: 1, failed: 1, skipped: 0 },
      R2: { passed: 1, failed: 1, skipped: 1 },
    });
  });

  test('figuresOf takes the greatest of each number that was printed as a line of JSON', () => {
    const output = [
      '{"what":"drain","CHAOS_SEED":4294967295}',
      'PASS test/chaos/drain.test.ts',
      '{"round":1,"engine":"dapr","exitMs":812.5}',
      '{"round":2,"exitMs":640,"repeats":[1,2]}',
      '{"engine":"dapr","settled":2012}',
      '{"broken',
    ].join('\n');
    expect(figuresOf(output)).toEqual({ round: 2, exitMs: 812.5 });
  });

  test('postsOf adds up the posts that were printed as settled, by engine', () => {
    const output = [
      '{"engine":"dapr","settled":2012}',
      '{"engine":"embedded","settled":2000}',
      '{"engine":"dapr","posts":3000}',
      '{"engine":"dapr","settled":3000}',
      '{"settled":7}',
    ].join('\n');
    expect(postsOf(output)).toEqual({ embedded: 2_000, dapr: 5_012 });
  });

  test('goalLines has a line of JSON for each goal from R1 to R20, with its files, its tests and their figures', () => {
    const lines = goalLines([
      runOf(FILES[0]!, { goals: goalsOf(tests), figures: { settledAfterMs: 900 }, posts: { embedded: 8, dapr: 2 } }),
      runOf(FILES[1]!, { goals: goalsOf(tests.slice(0, 1)), posts: { embedded: 3, dapr: 0 } }),
    ]);
    expect(lines.map((line) => (JSON.parse(line) as { goal: string }).goal)).toEqual(GOALS);
    expect(lines).toHaveLength(20);
    expect(JSON.parse(lines[0]!)).toEqual({
      goal: 'R1',
      files: FILES.slice(0, 2),
      passed: 2,
      failed: 1,
      skipped: 0,
      posts: { embedded: 11, dapr: 2 },
      figures: { 'f05-database': { settledAfterMs: 900 } },
    });
    expect(JSON.parse(lines[19]!)).toEqual({ goal: 'R20', files: [], passed: 0, failed: 0, skipped: 0 });
  });

  test('filesOfGoals finds the files whose titles cite a goal', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rookery-chaos-'));
    try {
      const [citing, names] = [join(folder, 'cites.test.ts'), join(folder, 'names.test.ts')];
      writeFileSync(citing, "test('a copy is enough [BO5, R18]', run);");
      writeFileSync(names, "// R18 is shown elsewhere\ntest('a copy [S18]', run);");
      expect(filesOfGoals([citing, names])).toEqual([citing]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
