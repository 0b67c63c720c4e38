import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { editedText, simulateApart } from './bugs.ts';
import { BUGS, LEFT_OUT } from './bugs/list.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('four simulations, each run twice with the same hash, keep what publishing promises under drawn faults', async () => {
  const { code, output } = await simulateApart(['--store', 'sql', '--seeds', '4', '--replay', '2']);
  expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
  expect(output.match(/^seed [1-4]: 2 of 2 runs have the hash /gm)).toHaveLength(4);
  const { seeds, seen } = JSON.parse(output.trim().split('\n').at(-1)!) as { seeds: number; seen: object };
  expect(seeds).toBe(4);
  expect(Object.keys(seen)).toEqual(
    expect.arrayContaining(['create', 'cut', 'freeze', 'sent post', 'sent comment', 'told by a webhook', 'plan']),
  );
}, 600_000);

test.each([
  [['--store', 'memory'], 'There is no store "memory": the simulation has one, sql'],
  [['--seed', '7', '--fast'], "Unknown option '--fast'"],
])('%j is refused by a sentence', async (args, sentence) => {
  const { code, output } = await simulateApart(args);
  expect({ code, lines: output.trim().split('\n') }).toEqual({ code: 2, lines: [expect.stringContaining(sentence)] });
});

test('the search for bugs runs in a copy of the tree, and finds one that the first seeds reach', async () => {
  const { output } = await simulateApart(['--bugs', '--only', '10', '--seeds', '4']);
  expect(output).toMatch(/^10-clock-of-the-host-decides: found in [1-4] seeds: I4: the post \S+ is sent \S+ ms early/m);
}, 600_000);

test.each(BUGS)('the bug $name applies to the product as it is', ({ name, edits }) => {
  for (const edit of edits)
    expect(() => editedText(readFileSync(`${ROOT}${edit[0]}`, 'utf8'), name, edit)).not.toThrow();
});

test('every one of the 36 bugs is made, or left out with its reason', () => {
  const numbers = [...BUGS.map(({ name }) => name), ...Object.keys(LEFT_OUT)].map((name) => Number(name.slice(0, 2)));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 36 }, (_, n) => n + 1));
});
