// The second process of the product for the benchmark `collab`: its actors are in the first one.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { actorsAt } from '../../../support/processes/actors-elsewhere.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { openNetwork } from '../../../support/worlds/publishing/world.ts';
import { answering } from '../../kit/answering.ts';
import { replicaEnv } from '../../kit/replica.ts';
import { usage } from '../../kit/usage.ts';

const { databaseUrl, redisUrl, actorsUrl } = JSON.parse(process.argv[2]!) as {
  databaseUrl: string;
  redisUrl: string;
  actorsUrl: string;
};
const app = await testApp({
  sql: openDatabase({ url: databaseUrl }),
  env: replicaEnv(redisUrl),
  adapters: [openNetwork().adapter],
  engine: actorsAt(actorsUrl),
});
answering({ address: () => ({ url: app.address }), use: usage });
