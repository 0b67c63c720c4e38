// A process of the product that serves co-editing, for tests that kill one: `node
// test/support/processes/scripts/collaboration-process.ts <setup as JSON>`. Its actors are in the process of the test, as those of
// a replica may be anywhere. It says its address; with the next line that it reads it drains and ends.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { testApp } from '../../worlds/app.ts';
import { openNetwork } from '../../worlds/publishing/world.ts';
import { actorsAt } from '../actors-elsewhere.ts';

export interface CollaborationSetup {
  databaseUrl: string;
  redisUrl: string;
  /** Where calls of actors go. */
  actorsUrl: string;
}
const { databaseUrl, redisUrl, actorsUrl } = JSON.parse(process.argv[2]!) as CollaborationSetup;
const sql = openDatabase({ url: databaseUrl });
const app = await testApp({
  sql,
  env: { COLLAB_REDIS_ADAPTER: redisUrl, COLLAB_SINGLE_INSTANCE: 'false', RATE_LIMIT_SCALE: '1000000' },
  adapters: [openNetwork().adapter],
  engine: actorsAt(actorsUrl),
});
process.stdout.write(`${app.address}\n`);
await once(createInterface({ input: process.stdin }), 'line');
await app[Symbol.asyncDispose]();
await sql.end({ timeout: 2 });
process.exit();
