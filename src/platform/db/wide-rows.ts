import type postgres from 'postgres';

/**
 * The rows of a statement that answers many of them, of many columns, made at once and let go of by the driver, which
 *
 * - gives a row one key after another: an object that grows to forty keys so is copied a dozen times;
 * - keeps the answer in its statement, and the statement in closures that V8 takes for old from the beginning, as they
 *   are assigned to properties. What they hold outlives every young collection, is copied twice, and fills the old
 *   space, whose collection holds up all requests. So the answer is emptied here.
 */
export async function wideRows<Row extends object>(statement: postgres.PendingQuery<Row[]>): Promise<Row[]> {
  const answer = await statement.values();
  const names = answer.columns.map(({ name }) => name);
  const blank: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, null]));
  const rows = answer.map((values) => {
    const row = { ...blank };
    for (let n = 0; n < names.length; n += 1) row[names[n]!] = values[n];
    return row as Row; // the columns of the statement, as for every other one
  });
  answer.length = 0;
  return rows;
}
