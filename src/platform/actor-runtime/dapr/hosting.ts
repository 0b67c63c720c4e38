import type { HostingOptions } from '../engine.ts';
import type { Host } from '../host.ts';
import { endOutage, startHeartbeat } from '../hosts.ts';
import { drainHost } from './drain.ts';
import type { SidecarLink } from './link.ts';
import { startRearming } from './rearm-reminders.ts';
import { openHostServer } from './server.ts';
import { waitForSidecar } from './sidecar.ts';

/** A turn may last 2 s; a round cuts what lasts longer than this, and every caller of the type waits for it. */
const DRAIN_MS = 3_000;
/** Daprd's own idle time. The host drops memory earlier, by its own limit. */
const IDLE_MS = 60 * 60_000;

/** Serves the sidecar's calls until it is disposed of, which drains the host. */
export async function startHosting(link: SidecarLink, host: Host, options?: HostingOptions): Promise<AsyncDisposable> {
  const { sidecar, reminders, probe, hold, bus } = link;
  const { appPort, appToken, callerToken, clock, log, sql, incarnation } = link.options;
  const server = openHostServer({
    host,
    subscriptions: bus,
    port: appPort,
    token: appToken,
    callerToken,
    log,
    tracing: link.options.tracing,
    idleMs: IDLE_MS,
    drainMs: DRAIN_MS,
    now: clock.monotonic,
  });
  await endOutage({ sql: hold.session, log, ...options }); // before the sidecar can call an actor
  await server.listen();
  let rearming: AsyncDisposable | undefined;
  const leave = async (properly: boolean) => {
    const stopped = rearming?.[Symbol.asyncDispose]();
    if (properly) await drainHost({ host, server, reminders, bus, probe, clock, log });
    await stopped;
    await link.heartbeat?.[Symbol.asyncDispose]();
    await server.close();
    link.heartbeat = undefined;
    link.hosted = undefined;
    link.left = true;
  };
  try {
    await waitForSidecar(sidecar, '/v1.0/healthz', link.readyMs, clock);
    link.heartbeat = await startHeartbeat({
      sql: hold.session,
      clock,
      log,
      incarnation,
      engine: 'dapr',
      address: `127.0.0.1:${appPort}`,
      host,
      ...options,
    });
    if (host.types.length > 0)
      rearming = startRearming({ reminders, types: host.types, sql, holder: incarnation, clock, log });
  } catch (error) {
    await leave(false);
    throw error;
  }
  let leaving: Promise<void> | undefined;
  return { [Symbol.asyncDispose]: () => (leaving ??= leave(true)) };
}
