import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { noteUnsteady } from './unsteady.ts';

test('a test file that is unsteady for the second time is told, however many runs lie between', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-unsteady-'));
  try {
    const list = join(folder, 'kept', 'unsteady.json');
    expect(noteUnsteady(list, [])).toEqual([]);
    expect(noteUnsteady(list, ['b.test.ts'])).toEqual([]);
    expect(noteUnsteady(list, ['a.test.ts'])).toEqual([]);
    expect(noteUnsteady(list, ['b.test.ts', 'c.test.ts'])).toEqual(['b.test.ts']);
    expect(JSON.parse(readFileSync(list, 'utf8'))).toEqual(['a.test.ts', 'b.test.ts', 'c.test.ts']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
