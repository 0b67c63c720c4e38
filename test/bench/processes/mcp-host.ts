// A process of the product for the benchmark `mcp`, which can tell its memory without what it holds for nothing.
import { openDatabase } from '../../../src/platform/db/index.ts';
import { testApp } from '../../support/worlds/app.ts';
import { answering } from '../kit/answering.ts';
import { usage } from '../kit/usage.ts';

const { databaseUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string };
const app = await testApp({ sql: openDatabase({ url: databaseUrl }), env: { RATE_LIMIT_SCALE: '1000000' } });

answering({ address: () => app.address, use: usage });
