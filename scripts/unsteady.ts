import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Adds test files that failed and then passed alone to the list that is kept over runs; answers those that it had
 * already.
 */
export function noteUnsteady(list: string, names: readonly string[]): string[] {
  const known = knownUnsteady(list);
  const added = names.filter((name) => !known.includes(name));
  if (added.length > 0) {
    mkdirSync(dirname(list), { recursive: true });
    writeFileSync(list, `${JSON.stringify([...known, ...added].toSorted(), null, 1)}\n`);
  }
  return names.filter((name) => known.includes(name));
}

function knownUnsteady(list: string): string[] {
  try {
    return JSON.parse(readFileSync(list, 'utf8')) as string[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
