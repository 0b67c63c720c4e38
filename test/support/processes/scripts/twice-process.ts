// The product on the embedded engine, with the settings of its environment, where all that may come twice does: each call
// of an actor and each reminder has two turns, each message of the bus comes two times. PAYMENTS_SERVER: the address of
// a payment processor. `node test/support/processes/scripts/twice-process.ts`
import { dueReminder } from '../../../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../../../actors/host/start.ts';
import { startApi } from '../../../../api/main.ts';
import { openContext } from '../../../../src/context.ts';
import type { Bus, Engine, Host } from '../../../../src/platform/actor-runtime/index.ts';
import { environment, readConfig } from '../../../../src/platform/config/index.ts';
import { openLogs } from '../../../../src/platform/telemetry/index.ts';

let hasRepeated = false;
/** Does a thing, and once more when that has ended; answers what came of the first. */
async function twice<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  const first = work();
  await first.catch(() => undefined);
  await work().catch(() => undefined);
  if (!hasRepeated) process.stdout.write('This process repeats what it is asked.\n');
  hasRepeated = true;
  return first;
}
const withTwins = (host: Host): Host => ({
  ...host,
  call: (to, method, input) => twice(() => host.call(to, method, input)), // without the id by which a host knows a repeat
  fire: (...fired) => twice(() => host.fire(...fired)),
});
const hosting = (engine: Engine): Engine => ({
  ...engine,
  host: (host, options) => engine.host(withTwins(host), options),
});
const announcing = (bus: Bus): Bus => ({
  publish: (topic, messages) => bus.publish(topic, [...messages, ...messages]),
  subscribe: (topic, handler) => bus.subscribe(topic, handler),
});

const { config } = readConfig(environment());
const paymentsServer = process.env['PAYMENTS_SERVER'];
const context = await openContext(config, {
  logs: openLogs({ level: 'info', format: 'json' }),
  actorTypes,
  channelReminder: dueReminder,
  sandboxUrl: config.social.sandboxUrl,
  ...(paymentsServer !== undefined && { paymentsServer }),
});
await startActors({ ...context, engine: hosting(context.engine), bus: announcing(context.bus) });
await startApi(context);
