import { randomBytes } from 'node:crypto';
import { changeAuditLog } from '../../../src/platform/audit/index.ts';
import { type Database, migrate, openDatabase } from '../../../src/platform/db/index.ts';

const TEMPLATE = 'rookery_test_template';
const url = (database: string) =>
  Object.assign(new URL(process.env['TEST_DATABASE_URL']!), { pathname: `/${database}` }).href;
const connect = (database: string, connections = 1, onStatement?: (text: string) => void) =>
  openDatabase({ url: url(database), connections, ...(onStatement && { onStatement }) });

/** Once per run, from jest's `globalSetup`: a migrated template that every test file clones. */
export async function buildTemplate(): Promise<void> {
  const root = connect('postgres');
  await root.unsafe(`drop database if exists ${TEMPLATE} with (force)`);
  await root.unsafe(`create database ${TEMPLATE}`);
  const sql = connect(TEMPLATE, 2);
  await migrate(sql);
  await Promise.all([sql.end(), root.end()]);
}

export interface TestDatabase extends AsyncDisposable {
  sql: Database;
  url: string;
  /** Every statement sent since the last `statements.length = 0`. */
  statements: string[];
}

/** One private, migrated database for a test file; `await using` (or disposing it) drops it. */
export async function testDatabase({ connections = 4 } = {}): Promise<TestDatabase> {
  const name = `rookery_test_${randomBytes(6).toString('hex')}`;
  const root = connect('postgres');
  for (let tries = 0; ; tries++) {
    try {
      // without `fsync` files are copied in half the time that writing them into the log takes
      await root.unsafe(`create database ${name} template ${TEMPLATE} strategy file_copy`);
      break;
    } catch (error) {
      // another worker is cloning the template
      if (tries === 20 || !String(error).includes('being accessed')) throw error;
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }
  const statements: string[] = [];
  const sql = connect(name, connections, (text) => void statements.push(text));
  return {
    sql,
    url: url(name),
    statements,
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await root.unsafe(`drop database if exists ${name} with (force)`);
      await root.end();
    },
  };
}

/** A client of any database; disposing it closes its connections. */
export function disposableDatabase(address: string): Database & AsyncDisposable {
  const sql = openDatabase({ url: address, connections: 2 });
  return Object.assign(sql, { [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) });
}

const DEADLOCK = '40P01';
/**
 * Empties tables and what refers to them; notes of the audit log go by what its retention says, as nothing else may
 * empty it. A product that is at work may hold some of the tables and want another: then it goes first.
 */
export async function emptyTables(sql: Database, ...tables: readonly string[]): Promise<void> {
  for (;;)
    try {
      await changeAuditLog(sql, (tx) => tx.unsafe(`truncate ${tables.join(', ')} cascade`));
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== DEADLOCK) throw error;
    }
}
