import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { expect, test } from '@jest/globals';
import { isFull, note } from '../support/processes/chaos.ts';
import { editedText } from './bugs.ts';
import { BUGS, LEFT_OUT } from './bugs/list.ts';
import { type Figures, MET_BY_FEW, MET_BY_MANY, notMet } from './coverage.ts';
import { ROOT, simulateApart } from './jobs.ts';

const JOBS = String(availableParallelism());

const [SEEDS, REPLAYED] = isFull ? [1_000, 100] : [100, 10];

test(`${SEEDS} simulations, of which ${REPLAYED} run twice with the same hash, keep what publishing promises under drawn faults, and meet what can break [R11]`, async () => {
  const args = ['--jobs', JOBS, '--seeds', String(SEEDS), '--replay', '2', '--replayed', String(REPLAYED)];
  const { code, output } = await simulateApart(['--store', 'sql', ...args]);
  expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
  expect(output.match(/^seed \d+: 2 of 2 runs have the hash /gm)).toHaveLength(REPLAYED);
  const { seen, ...figures } = JSON.parse(output.trim().split('\n').at(-1)!) as Figures;
  note(figures);
  expect(figures).toMatchObject({ seeds: SEEDS, runs: SEEDS + REPLAYED });
  expect(notMet(seen, isFull ? MET_BY_MANY : MET_BY_FEW)).toEqual([]);
}, 86_400_000);

test('a kind that no seed has met is named, whatever else begins like it', () => {
  const seen = Object.fromEntries(MET_BY_MANY.map((what) => [what, 1]));
  expect(notMet(seen, MET_BY_MANY)).toEqual([]);
  const { outage: _, 'post ERROR': __, ...less } = seen;
  expect(notMet(less, MET_BY_MANY)).toEqual(['outage', 'post ERROR']);
  expect(notMet({ ...less, 'post ERROR missed': 1, outages: 1 }, MET_BY_MANY)).toEqual(['outage']);
});

test.each([
  [['--store', 'memory'], 'There is no store "memory": the simulation has one, sql'],
  [['--seed', '7', '--fast'], "Unknown option '--fast'"],
])('%j is refused by a sentence', async (args, sentence) => {
  const { code, output } = await simulateApart(args);
  expect({ code, lines: output.trim().split('\n') }).toEqual({ code: 2, lines: [expect.stringContaining(sentence)] });
});

test('the search for bugs runs in a copy of the tree, and finds one that the first seeds reach', async () => {
  const { output } = await simulateApart(['--bugs', '--only', '01', '--seeds', '4']);
  expect(output).toMatch(/^01-no-due-check: found in [1-4] seeds: I4: the post \S+ is sent \S+ ms early/m);
}, 600_000);

test.each(BUGS)('the bug $name applies to the product as it is', ({ name, edits }) => {
  for (const edit of edits)
    expect(() => editedText(readFileSync(`${ROOT}${edit[0]}`, 'utf8'), name, edit)).not.toThrow();
});

test('every one of the 36 bugs is made, or left out with its reason', () => {
  const numbers = [...BUGS.map(({ name }) => name), ...Object.keys(LEFT_OUT)].map((name) => Number(name.slice(0, 2)));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 36 }, (_, n) => n + 1));
});
