import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { editedText } from './bugs.ts';
import { BUGS, LEFT_OUT } from './bugs/list.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** In a process of its own: its time and randomness are virtual. */
async function simulate(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['test/sim/main.ts', ...args], { cwd: ROOT });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (output += String(text)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

test('four simulations, each run twice with the same hash, keep what publishing promises under drawn faults', async () => {
  const { code, output } = await simulate('--from', '1', '--seeds', '4', '--replay', '2');
  expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
  const { seeds, seen } = JSON.parse(output.trim().split('\n').at(-1)!) as { seeds: number; seen: object };
  expect(seeds).toBe(4);
  expect(Object.keys(seen)).toEqual(
    expect.arrayContaining(['create', 'cut', 'freeze', 'sent post', 'sent comment', 'told by a webhook', 'plan']),
  );
}, 600_000);

test('the search for bugs runs in a copy of the tree, and finds one that the first seed reaches', async () => {
  const { output } = await simulate('--bugs', '--only', '05', '--seeds', '1');
  expect(output).toMatch(/^05-slot-kept-after-failure: found in 1 seeds: a slot for a post/m);
}, 600_000);

test.each(BUGS)('the bug $name applies to the product as it is', (bug) => {
  for (const edit of bug.edits)
    expect(() => editedText(readFileSync(`${ROOT}${edit.file}`, 'utf8'), bug, edit)).not.toThrow();
});

test('every one of the 36 bugs is made, or left out with its reason', () => {
  const numbers = [...BUGS.map(({ name }) => name), ...Object.keys(LEFT_OUT)].map((name) => Number(name.slice(0, 2)));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 36 }, (_, n) => n + 1));
});
