import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { commandLine } from '../../../src/platform/db/embedded/processes.ts';

/** The command lines of living processes that name a path, such as `initdb` and Postgres of a folder. */
export function commandsWith(path: string): string[] {
  const ids =
    process.platform === 'linux'
      ? readdirSync('/proc').filter((name) => /^\d+$/.test(name))
      : execFileSync('ps', ['-A', '-o', 'pid='], { encoding: 'utf8' }).trim().split('\n');
  return ids.map((id) => commandLine(Number(id))).filter((command) => command.includes(path));
}
