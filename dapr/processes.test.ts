import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settles } from '../test/support/settles.ts';
import { startProcess } from './processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'rookery-processes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const start = (logFile: string, command: string, args: readonly string[]) =>
  startProcess({ name: 'program', command, args, environment: { PATH: '/usr/bin:/bin' }, logFile: join(folder, logFile) });

test('the last words of a program are in its log, also those that are read after its end', async () => {
  for (let n = 0; n < 20; n++) {
    const running = start(`${n}.log`, '/bin/sh', ['-c', 'head -c 150000 /dev/zero | tr "\\0" x; echo; echo the last words; exit 3']);
    expect(await running.exited).toEqual({ code: 3, signal: null });
    await settles(() => expect(readFileSync(running.logFile, 'utf8')).toMatch(/^x{150000}\nthe last words\n$/));
  }
});

test('a program that cannot be started is told by its exit and in its log', async () => {
  const running = start('none.log', join(folder, 'nothing'), []);
  expect(await running.exited).toEqual({ code: -1, signal: null });
  await settles(() => expect(readFileSync(running.logFile, 'utf8')).toMatch(/^Error: spawn .*ENOENT\n$/));
});
