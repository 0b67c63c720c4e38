// A process of its own from the outbox to the receivers, for tests that kill one: `node test/support/webhook-process.ts <database url>`.
// It beats, deals out the outbox, delivers, and finds what others left behind, until it is killed.
import { newId } from '../../src/kernel/index.ts';
import { startHost } from './webhook-world.ts';

const host = await startHost({ url: process.argv[2]!, applicationName: 'webhook-process' });
await host.sql`insert into actor_hosts (incarnation, engine, address, types) values (${host.incarnation}, 'embedded', ${newId()}, '{Webhook}')`;
host.relays();
setInterval(() => void host.sql`update actor_hosts set last_beat = now() where incarnation = ${host.incarnation}`.catch(() => undefined), 500);
async function sweep(): Promise<void> {
  for (const key of await host.webhooks.overdue(500).catch(() => [])) void host.webhooks.deliver(key).catch(() => undefined);
}
setInterval(() => void sweep(), 500);
process.stdout.write('ready\n');
