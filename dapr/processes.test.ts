import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settles } from '../test/support/wire/settles.ts';
import { startProcess, waitUntil } from './processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'rookery-processes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const start = (logFile: string, command: string, args: readonly string[]) =>
  startProcess({
    name: 'program',
    command,
    args,
    environment: { PATH: '/usr/bin:/bin' },
    logFile: join(folder, logFile),
  });

test('the last words of a program are in its log, also those that are read after its end', async () => {
  for (let n = 0; n < 20; n++) {
    const running = start(`${n}.log`, '/bin/sh', [
      '-c',
      'head -c 150000 /dev/zero | tr "\\0" x; echo; echo the last words; exit 3',
    ]);
    expect(await running.exited).toEqual({ code: 3, signal: null });
    await settles(() => expect(readFileSync(running.logFile, 'utf8')).toMatch(/^x{150000}\nthe last words\n$/));
  }
});

test('a wait for programs of which one ended says its last lines', async () => {
  const running = start('refused.log', '/bin/sh', ['-c', 'seq 30; echo why it ended >&2; exit 1']);
  const waited = await waitUntil('it serves', async () => false, { needs: [running] }).catch(
    (error: unknown) => error as Error,
  );
  expect(waited?.message).toMatch(/^program ended \(with code 1\) before it serves; the end of .*refused\.log:\n/);
  expect(waited?.message).toMatch(/\n {2}30\n {2}why it ended$/);
  expect(waited?.message).not.toMatch(/\n {2}5\n/);
});

test('a program that cannot be started is told by its exit and in its log', async () => {
  const running = start('none.log', join(folder, 'nothing'), []);
  expect(await running.exited).toEqual({ code: -1, signal: null });
  await settles(() => expect(readFileSync(running.logFile, 'utf8')).toMatch(/^Error: spawn .*ENOENT\n$/));
});
