import { type Database, openDatabase } from '../../../../src/platform/db/index.ts';

// Databases by name, on a server that tests may make them on.

const SERVER = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
export const urlOf = (database: string): string => Object.assign(new URL(SERVER), { pathname: `/${database}` }).href;

/** Over a connection that is gone afterwards. */
export async function runOn(url: string, work: (sql: Database) => Promise<unknown>): Promise<void> {
  const sql = openDatabase({ url, connections: 1 });
  await work(sql);
  await sql.end();
}

/** Makes a database anew, with settings of its sessions; `how` as `create database` has it. Answers how it is dropped. */
export async function makeDatabase(
  name: string,
  settings: Readonly<Record<string, string>>,
  how = '',
): Promise<() => Promise<void>> {
  const drop = `drop database if exists ${name} with (force)`;
  await runOn(SERVER, async (root) => {
    await root.unsafe(drop);
    await root.unsafe(`create database ${name} ${how}`);
    for (const [setting, value] of Object.entries(settings))
      await root.unsafe(`alter database ${name} set ${setting} = ${LISTED.has(setting) ? value : `'${value}'`}`);
  });
  return () => runOn(SERVER, (root) => root.unsafe(drop));
}
/** Settings whose value is a list of names. */
const LISTED = new Set(['search_path']);
