import { statementsOf } from './sql-statements.ts';

/** A statement that builds or drops one index while others write to its table. */
export interface IndexStatement {
  text: string;
  /** Of the index that is built, which may be there and invalid; undefined where one is dropped. */
  builds: string | undefined;
}

const MARK = '--! concurrently';
const CREATE = /^create (?:unique )?index concurrently if not exists ([a-z_][a-z0-9_]*) on [a-z_]/;
const DROP = /^drop index concurrently if exists [a-z_][a-z0-9_]*$/;

/**
 * The statements of a file that is marked to run outside of a transaction; undefined for any other file. They can be
 * repeated from the first one on, whatever became of them before, so nothing else may stand there.
 */
export function indexStatementsOf(file: string, text: string): IndexStatement[] | undefined {
  const statements = statementsOf(text);
  if (!text.startsWith(MARK)) {
    if (statements.some(({ bare }) => /\bindex concurrently\b/.test(bare)))
      throw new Error(`Migration ${file} has an index concurrently: put it into a file that begins with ${MARK}.`);
    return undefined;
  }
  return statements.map(({ text: statement, bare }) => {
    const builds = CREATE.exec(bare)?.[1];
    if (builds === undefined && !DROP.test(bare))
      throw new Error(
        `Migration ${file} begins with ${MARK}, so it may hold only "create index concurrently if not exists <name> on …" ` +
          `and "drop index concurrently if exists <name>". It has: ${bare.slice(0, 200)}`,
      );
    return { text: statement, builds };
  });
}
