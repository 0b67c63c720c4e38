import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../../src/platform/db/embedded/index.ts';
import { migrate, openDatabase } from '../../../src/platform/db/index.ts';
import type { TestDatabase } from '../wire/database.ts';
import { eventually } from '../wire/eventually.ts';

/** A Postgres beside the one that tests share, durable as in production, whose power a test can cut. */
export interface OwnPostgres extends AsyncDisposable {
  readonly url: string;
  /** Ends it as if the power failed. */
  stopAtOnce(): Promise<void>;
  /** Starts it again, on its port. */
  start(): Promise<void>;
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-own-postgres-'));
  chmodSync(folder, 0o777); // Postgres runs as a user of its own when the tests run as root
  const options = { folder: join(folder, 'postgres'), settings: { max_connections: '100' } };
  let server = await startEmbeddedPostgres(options);
  return {
    url: server.url,
    async stopAtOnce() {
      process.kill(server.pid, 'SIGQUIT');
      await eventually('Postgres is gone', () => {
        try {
          return !process.kill(server.pid, 0);
        } catch {
          return true;
        }
      });
      await server[Symbol.asyncDispose]();
    },
    async start() {
      server = await startEmbeddedPostgres({ ...options, port: server.port });
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The one database of a Postgres of its own, migrated. */
export async function databaseOf({ url }: OwnPostgres): Promise<TestDatabase> {
  const statements: string[] = [];
  const sql = openDatabase({ url, connections: 4, onStatement: (text) => void statements.push(text) });
  await migrate(sql);
  return { sql, url, statements, [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) };
}
