// A process of the product that serves co-editing, for tests that kill one: `node
// test/support/processes/collaboration-process.ts <setup as JSON>`. Its actors are in the process of the test, as those of
// a replica may be anywhere. It says its address; with the next line that it reads it drains and ends.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { openDatabase } from '../../../src/platform/db/index.ts';
import type { Address } from '../../../src/platform/actor-runtime/index.ts';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { noEngine, testApp } from '../worlds/app.ts';
import { openNetwork } from '../worlds/publishing/world.ts';

export interface CollaborationSetup {
  databaseUrl: string;
  redisUrl: string;
  /** Where calls of actors go. */
  actorsUrl: string;
}
export interface ActorCall {
  to: Address;
  method: string;
  input: unknown;
}
export interface ActorAnswer {
  value?: unknown;
  error?: { code: ConstructorParameters<typeof AppError>[0]; message: string };
}

const { databaseUrl, redisUrl, actorsUrl } = JSON.parse(process.argv[2]!) as CollaborationSetup;
const sql = openDatabase({ url: databaseUrl });
const app = await testApp({
  sql,
  env: { COLLAB_REDIS_ADAPTER: redisUrl, COLLAB_SINGLE_INSTANCE: 'false', RATE_LIMIT_SCALE: '1000000' },
  adapters: [openNetwork().adapter],
  engine: {
    ...noEngine,
    engine: {
      ...noEngine.engine,
      async invoke(to, method, input) {
        const answer = await fetch(actorsUrl, {
          method: 'POST',
          body: JSON.stringify({ to, method, input } satisfies ActorCall),
        });
        const { value, error } = (await answer.json()) as ActorAnswer;
        if (error) throw new AppError(error.code, error.message);
        return value;
      },
    },
  },
});
process.stdout.write(`${app.address}\n`);
await once(createInterface({ input: process.stdin }), 'line');
await app[Symbol.asyncDispose]();
await sql.end({ timeout: 2 });
process.exit();
