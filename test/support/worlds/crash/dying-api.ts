import { type Api, startApi } from '../../../../api/main.ts';
import type { Context } from '../../../../src/context.ts';

const KEEPS = /^\s*(update|delete from) idempotency_keys/;

/**
 * A process over the rooms of another one that dies between what a handler commits and the keeping of its answer: the
 * ladder neither keeps it nor gives the key back.
 */
export function dyingApi(context: Context): Promise<Api> {
  const sql = new Proxy(context.sql, {
    apply: (target, self, args: unknown[]) =>
      KEEPS.test(String((args[0] as readonly unknown[])[0]))
        ? Promise.reject(new Error('The process has died'))
        : Reflect.apply(target, self, args),
  });
  return startApi({ ...context, sql }, { checkAnswers: true, onAnswer: () => undefined });
}
