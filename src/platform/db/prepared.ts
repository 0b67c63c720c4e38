import type postgres from 'postgres';
import type { Fragment, Sql } from './client.ts';

/** Where a value goes that each execution brings. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A fragment of the driver. */
interface Composed {
  strings: readonly string[];
  args: readonly unknown[];
}
/** The text between values, as a template literal hands it over, and the values, of which some are slots. */
interface Template {
  strings: TemplateStringsArray;
  args: readonly unknown[];
}

/**
 * A statement that is composed of fragments once, when it runs first: each execution takes the same text and brings its
 * values. The driver makes an object for each fragment of a statement, every time that it runs, and a promise for each
 * of these: half a millisecond for a statement of 140 fragments until it can be sent.
 *
 * `compose` is called once, so what it puts into the text must not depend on an execution. `value('name')` stands for
 * the value of that name. The result is the driver's own statement, to be awaited, or put into another one. Lists of
 * fragments, which the driver joins itself, are refused: a value in them would not be found.
 */
export function prepared<Values extends object, Row extends object>(
  compose: (sql: Sql, value: (name: keyof Values & string) => Fragment) => Fragment,
): (sql: Sql, values: Values) => postgres.PendingQuery<Row[]> {
  let template: Template | undefined;
  return (sql, values) => {
    template ??= templateOf(
      compose(sql, (name) => new Slot(name) as unknown as Fragment), // stands where a fragment may stand
      sql,
    );
    const args = template.args.map((arg) => (arg instanceof Slot ? values[arg.name as keyof Values] : arg));
    return sql<Row[]>(template.strings, ...(args as postgres.ParameterOrFragment<never>[]));
  };
}

/** Joins a fragment and those in it to one. */
function templateOf(fragment: Fragment, sql: Sql): Template {
  const fragmentType = sql``.constructor as new () => Fragment;
  const identifierType = sql('id').constructor as new () => { value: string };
  const strings = [''];
  const args: unknown[] = [];
  const add = (text: string) => (strings[strings.length - 1] += text);
  const join = ({ strings: texts, args: parts }: Composed): void =>
    texts.forEach((text, n) => {
      add(text);
      if (n === texts.length - 1) return;
      const part = parts[n];
      if (part instanceof fragmentType) join(part as unknown as Composed);
      else if (part instanceof identifierType) add(part.value);
      else {
        if (Array.isArray(part) && part.some((one) => one instanceof fragmentType))
          throw new Error('prepared: a list of fragments cannot be composed once');
        args.push(part);
        strings.push('');
      }
    });
  join(fragment as unknown as Composed);
  return { strings: Object.assign(strings, { raw: strings }), args };
}
