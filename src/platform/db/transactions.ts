import type postgres from 'postgres';
import { type Handler, type Query, sending } from './sending.ts';

// When a connection ends under a transaction, the driver tells who began that, and lets its code go on. What that sends
// next would find no socket, which is an error that nobody catches, or the connection that was made instead: it would be
// written, and committed, in the transaction of somebody else.

/**
 * Has the transactions of a client refused every statement that comes after their end. The driver does not hear of what
 * the code of such a transaction comes to, on which it would send a commit or a rollback. `ended` is told of each end.
 */
export function guardTransactions(
  sql: postgres.Sql,
  send: (query: Query, handler: Handler) => void,
  ended: () => void,
): void {
  const begin = sql.begin as (...args: unknown[]) => Promise<unknown>;
  sql.begin = (async (...args: unknown[]) => {
    const code = args.pop() as (tx: postgres.TransactionSql) => unknown;
    let over: unknown;
    const refuseOrSend = (query: Query, handler: Handler) => (over ? query.reject(over) : send(query, handler));
    const guarded = (tx: postgres.TransactionSql) =>
      new Promise((resolve, reject) => {
        resultOf(() => code(sending(tx, refuseOrSend))).then(
          (result) => over || resolve(result),
          (error: unknown) => over || reject(error),
        );
      });
    try {
      return await begin(...args, guarded);
    } catch (error) {
      over = error;
      throw error;
    } finally {
      over ??= new Error('This transaction has ended');
      ended();
    }
  }) as typeof sql.begin;
}

/** What the code of a transaction answers, which may be a list of statements. */
async function resultOf(code: () => unknown): Promise<unknown> {
  const result = code();
  return Array.isArray(result) ? Promise.all(result) : result;
}
