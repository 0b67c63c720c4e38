import { createHook } from 'node:async_hooks';
import type { TestDatabase } from '../../wire/database.ts';

/** Notes of last use, which a request before may have left to be written. */
const LATER = /^\s*(with\s+used as|update api_keys k\s+set last_used_at)/;

/**
 * What a request made the server do: passwords hashed in this process, and statements without their values, in order.
 * Time is not measured: who counts work knows its class.
 */
export async function workOf<T>(
  { statements }: Pick<TestDatabase, 'statements'>,
  ask: () => Promise<T>,
): Promise<{ result: T; hashes: number; statements: string[] }> {
  let hashes = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'ARGON2REQUEST') hashes += 1;
    },
  });
  statements.length = 0;
  hook.enable();
  try {
    const result = await ask();
    return { result, hashes, statements: statements.filter((text) => !LATER.test(text)) };
  } finally {
    hook.disable();
  }
}
