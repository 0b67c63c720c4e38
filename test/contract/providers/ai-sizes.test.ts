import { expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';

const SOURCES = new URL('../../../src/providers/', import.meta.url);
/** What is a table, and no code. */
const TABLES = new Set(['_prices.ts']);

test.each([
  ['ai', 25],
  ['media', 60],
])('adapters and families of %s have at most 200 lines, and half of the adapters %d', async (domain, most) => {
  const folder = new URL(`${domain}/`, SOURCES);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !TABLES.has(name));
  const files = await Promise.all(
    names.map(async (name) => ({
      name,
      lines: (await readFile(new URL(name, folder), 'utf8')).split('\n').length - 1,
    })),
  );
  expect(files.filter(({ lines }) => lines > 200)).toEqual([]);
  const adapters = files.filter(({ name }) => /\.v\d+\.ts$/.test(name)).map(({ lines }) => lines);
  expect(adapters.filter((lines) => lines <= most).length).toBeGreaterThanOrEqual(adapters.length / 2);
});
