// A process of its own with billing on: `node test/support/processes/scripts/paying-process.ts <database url> <processor url>`.
// Says its address; ends with its input.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { testApp } from '../../worlds/app.ts';
import { WITH_BILLING } from '../../worlds/billing.ts';

const [url, paymentsServer] = process.argv.slice(2) as [string, string];
const app = await testApp({ sql: openDatabase({ url }), env: WITH_BILLING, paymentsServer });
process.stdout.write(`${app.address}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
