// A process of its own without the API, for tests that kill one: `node test/support/processes/scripts/webhook-process.ts
// <database url>`.
import { startHost } from '../../worlds/publishing/webhooks.ts';

const host = await startHost({ url: process.argv[2]!, applicationName: 'webhook-process', reconcileMs: 500 });
await host.starts();
process.stdout.write('ready\n');
