import { readFileSync } from 'node:fs';
import { CannotRun } from './options.ts';

/** Of a process beside its connections: modules, Postgres, pipes. */
const OTHER_FILES = 500;

/** Each connection is an open file of the process that serves it and of that of the clients. */
export function needFiles(connections: number): void {
  const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 'Infinity';
  if (Number(limit) < connections + OTHER_FILES)
    throw new CannotRun(`a process may have ${limit} open files, and this needs ${connections + OTHER_FILES}`);
}
