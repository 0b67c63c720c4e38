import { actorsOf, type Bus, type Engine, placement } from './actor-runtime/index.ts';
import { dropOldAudit, openAudit } from './audit/index.ts';
import { openCache } from './cache/index.ts';
import type { Config } from './config/index.ts';
import { type Database, dropOldKeys, foldChangeCounters, openDatabase, readConnections } from './db/index.ts';
import { openErrorLog } from './error-log/index.ts';
import { type Clock, newId, openVault } from './kernel/index.ts';
import { type Network, openOutbound } from './outbound/index.ts';
import { countWaiting } from './outbox/index.ts';
import { type Log, type Logs, openEvents, openMetrics, openTracing, type Tracing } from './telemetry/index.ts';
import { wing } from './wing/index.ts';

export interface PlatformNeeds {
  config: Config;
  logs: Logs;
  /** Every actor type there is, hosted here or not. */
  actorTypes: readonly string[];
  clock: Clock;
  /** A pool that is open already; its opener closes it. */
  sql?: Database;
  /** An engine with its bus; their opener closes them. */
  engine?: EngineAndBus;
  network: Network;
}

/** The engine that runs the actors, and the bus that wakes processes. */
export interface EngineAndBus {
  readonly engine: Engine;
  readonly bus: Bus;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens what every other wing stands on: database, cache, engine, logs and metrics, the way out. */
export async function openPlatformWing({ config, logs: given, actorTypes, clock, network, ...parts }: PlatformNeeds) {
  await using opened = new AsyncDisposableStack();
  const incarnation = newId();
  const sql = parts.sql ?? openPool(config, opened);
  const errors = opened.use(openErrorLog({ sql, logs: given, incarnation, retentionDays: config.retention.errors }));
  const { logs } = errors;
  const { otlpEndpoint: endpoint, serviceName } = config.telemetry;
  const tracing = opened.use(
    await openTracing({ endpoint, serviceName, instance: incarnation, log: logs.of('tracing') }),
  );
  const metrics = openMetrics();
  const events = openEvents(logs.of('events'), metrics);
  const cache = opened.use(
    await openCache(config.redis.url, clock, {
      onChange: (state, reason) => (state === 'away' ? events.cacheAway({ reason }) : events.cacheBack()),
      onHandlerError: (channel, error) =>
        logs.of('cache').error({ channel, err: error }, 'a message was not understood'),
    }),
  );
  const { engine, bus } =
    parts.engine ??
    opened.use(await openEngine(config, { sql, clock, log: logs.of('actors'), incarnation, actorTypes, tracing }));
  return wing(opened, {
    rooms: {
      /** One start of this process. */
      incarnation,
      sql,
      audit: openAudit(sql),
      errors,
      logs,
      metrics,
      tracing,
      events,
      cache,
      vault: openVault(config.secrets.encryptionKey, config.secrets.formerKeys),
      engine,
      bus,
      actors: actorsOf(engine),
      /** The processes that host actors, each as it last said of itself. */
      hosts: { list: () => placement(sql) },
      outbound: opened.use(
        openOutbound({ ...config.outbound, ...network, ...(tracing.enabled && { span: tracing.span }) }),
      ),
    },
    sweeps: [
      { name: 'idempotency-keys', everyMs: 15 * MINUTE, run: (limit) => dropOldKeys(sql, limit) },
      { name: 'change-counters', everyMs: HOUR, run: (limit) => foldChangeCounters(sql, limit) },
      { name: 'audit', everyMs: HOUR, run: (limit) => dropOldAudit(sql, config.retention.audit, limit) },
      { name: 'errors', everyMs: HOUR, run: (limit) => errors.dropOld(limit) },
    ],
    gauges: [
      {
        name: 'cache_away',
        help: '1 while a cache that was configured cannot be reached.',
        read: () => (cache.health().awaySince ? 1 : 0),
      },
      {
        name: 'outbox_waiting',
        help: 'Facts that some listener has not heard yet, up to 10,000.',
        read: () => countWaiting(sql),
      },
      {
        name: 'database_connections',
        help: 'Connections of all processes of this service, by what they do.',
        read: () => readConnections(sql),
        label: 'state',
      },
    ],
  });
}

function openPool({ database }: Config, opened: AsyncDisposableStack): Database {
  const sql = openDatabase({
    url: database.url!,
    connections: database.connections,
    connectTimeoutSeconds: database.poolTimeoutSeconds,
  });
  opened.defer(() => sql.end({ timeout: 5 }));
  return sql;
}

interface EngineNeeds {
  sql: Database;
  clock: Clock;
  log: Log;
  incarnation: string;
  actorTypes: readonly string[];
  tracing: Tracing;
}

/** The engine of the configuration with its bus. The other one's code is not even loaded. */
async function openEngine(
  { actors, http, secrets }: Config,
  { sql, clock, log, incarnation, actorTypes, tracing }: EngineNeeds,
): Promise<EngineAndBus & AsyncDisposable> {
  if (actors.engine === 'dapr') {
    const { openDaprEngine } = await import('./actor-runtime/dapr/index.ts');
    const engine = await openDaprEngine({
      ...actors.dapr,
      callerToken: secrets.actorCalls,
      types: actorTypes,
      sql,
      clock,
      log,
      incarnation,
      tracing,
    });
    return { engine, bus: engine.bus, [Symbol.asyncDispose]: () => engine.close() };
  }
  const { openEmbeddedBus, openEmbeddedEngine } = await import('./actor-runtime/embedded/index.ts');
  const bus = openEmbeddedBus({ clock, log });
  const engine = await openEmbeddedEngine({ sql, clock, log, address: http.internalUrl, incarnation });
  return {
    engine,
    bus,
    async [Symbol.asyncDispose]() {
      await bus[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}
