// A process of its own that has streams of clients: `node test/support/processes/scripts/stream-process.ts <settings as JSON>`.
// It says its address, and lives until it is killed.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { testApp } from '../../worlds/app.ts';

const { databaseUrl, redisUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string; redisUrl: string };
const { address } = await testApp({ sql: openDatabase({ url: databaseUrl }), env: { REDIS_URL: redisUrl } });
process.stdout.write(`${address}\n`);
