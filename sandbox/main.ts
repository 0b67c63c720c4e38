import { parseArgs } from 'node:util';
import { openDatabase } from '../src/platform/db/index.ts';
import { startSandbox } from './index.ts';

/**
 * The sandbox network as its own process: `node sandbox/main.ts --database postgres://… [--port 4510]`. Prints its
 * address when it listens; SIGTERM ends it.
 */
const { values } = parseArgs({ options: { database: { type: 'string' }, port: { type: 'string', default: '0' } } });
if (values.database === undefined) throw new Error('Name the database that holds the ledger: --database postgres://…');

const sql = openDatabase({ url: values.database, connections: 4, applicationName: 'rookery-sandbox' });
const sandbox = await startSandbox({ sql, port: Number(values.port) });
process.stdout.write(`${JSON.stringify({ url: sandbox.url })}\n`);

async function end(): Promise<void> {
  await sandbox[Symbol.asyncDispose]();
  await sql.end({ timeout: 2 });
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end());
