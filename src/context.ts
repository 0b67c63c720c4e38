import { randomUUID } from 'node:crypto';
import { actorsOf, type Actors, type Bus, type Engine } from './actor-runtime/index.ts';
import { type Auth, openAuth } from './auth/index.ts';
import { type Cache, openCache } from './cache/index.ts';
import { type Channels, openChannels } from './channels/index.ts';
import type { Config } from './config/config.ts';
import { type Database, listRuns, openDatabase } from './db/index.ts';
import { type Identity, openIdentity } from './identity/index.ts';
import { type Clock, openVault, systemClock, tenantKey, type Vault } from './kernel/index.ts';
import { type Media, openMedia } from './media/index.ts';
import { openOutbound, type Outbound } from './outbound/index.ts';
import { type Nudges, openPosts, type Posts } from './posts/index.ts';
import { openProviders, type Providers } from './providers/index.ts';
import { type Events, type Health, type Logs, type Metrics, openEvents, openMetrics } from './telemetry/index.ts';
import { openWebhooks, type Webhooks } from './webhooks/index.ts';

/** Every room of one process, built once. */
export interface Context {
  readonly config: Config;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly sql: Database;
  readonly engine: Engine;
  readonly bus: Bus;
  readonly actors: Actors;
  readonly auth: Auth;
  readonly cache: Cache;
  readonly channels: Channels;
  readonly identity: Identity;
  readonly media: Media;
  readonly outbound: Outbound;
  readonly posts: Posts;
  readonly providers: Providers;
  readonly webhooks: Webhooks;
  readonly events: Events;
  readonly health: Health;
  readonly logs: Logs;
  readonly metrics: Metrics;
  /** Of this start of this process. */
  readonly incarnation: string;
}

interface Options {
  logs: Logs;
  /** Every actor type there is, hosted here or not. */
  actorTypes: readonly string[];
  /** The type whose reminder `due` is moved when a channel's next due time changes. */
  channelType: string;
  /** Address of the sandbox network, where it is there. */
  sandboxUrl: string | undefined;
  clock?: Clock;
  /** Certificates of authorities beside the system's, for outgoing calls; for tests. */
  authorities?: readonly string[];
}

const HOUR_MS = 3_600_000;
const SUMMARY_MS = 5_000;

/** Builds every room, each with its part of the configuration; disposing of it closes them in reverse. Only here is it known which engine, cache and bus were chosen. */
export async function openContext(
  config: Config,
  { logs, actorTypes, channelType, sandboxUrl, clock = systemClock, authorities }: Options,
): Promise<Context & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const incarnation = randomUUID();
  const sql = openDatabase({ url: config.database.url!, connections: config.database.connections, connectTimeoutSeconds: config.database.poolTimeoutSeconds });
  opened.defer(() => sql.end({ timeout: 5 }));
  const metrics = openMetrics();
  const events = openEvents(logs.of('events'), metrics);
  const cache = opened.use(
    await openCache(config.redis.url, clock, {
      onChange: (state, reason) => (state === 'away' ? events.cacheAway({ reason }) : events.cacheBack()),
      onHandlerError: (channel, error) => logs.of('cache').error({ channel, err: error }, 'a message was not understood'),
    }),
  );
  const vault = openVault(config.secrets.encryptionKey);

  const { engine, bus } = opened.use(await openEngine(config, { sql, clock, log: logs.of('actors'), incarnation, actorTypes }));
  const outbound = opened.use(openOutbound({ ...config.outbound, ...(authorities && { authorities }) }));
  const providers = openProviders({
    outbound,
    clock,
    sandboxEnabled: config.social.sandboxEnabled,
    apps: config.social.apps,
    ...(sandboxUrl !== undefined && { servers: { sandbox: sandboxUrl } }),
  });
  const identity = openIdentity({ sql, registrationDisabled: config.registration.disabled });
  const auth = opened.use(
    openAuth({
      sql,
      clock,
      identity,
      jwtSecret: config.secrets.jwt,
      disallowPlus: config.registration.disallowPlus,
      failed: (error) => logs.of('auth').warn({ err: error }, 'a note of last use was not written'),
    }),
  );
  const media = await openMedia({
    sql,
    clock,
    outbound,
    folder: config.uploads.folder,
    backendUrl: config.http.backendUrl,
    maxBytes: config.uploads.maxBytes,
    restrictDomains: config.uploads.restrictDomains,
  });
  const channels = openChannels({
    sql,
    clock,
    vault,
    providers,
    outbound,
    frontendUrl: config.http.frontendUrl,
    returnUrlAllowlist: config.social.returnUrlAllowlist,
    events,
  });
  const webhooks = openWebhooks({
    sql,
    clock,
    vault,
    outbound,
    incarnation,
    signingKey: config.secrets.webhookSigning,
    timeoutMs: config.outbound.webhookTimeoutMs,
    log: logs.of('webhooks'),
    events,
  });
  const nudges: Nudges = {
    within: (transaction, due) =>
      engine.remindWithin(
        transaction,
        due.map(({ orgId, channelId, dueAt }) => ({ type: channelType, id: tenantKey(orgId, channelId), name: 'due', due: dueAt, owner: orgId })),
      ),
  };
  const posts = opened.use(
    openPosts({
      sql,
      clock,
      nudges,
      channels,
      media,
      incarnation,
      beat: engine,
      log: logs.of('posts'),
      events,
      options: { horizonMs: config.actors.reminderHorizonHours * HOUR_MS, inFlight: config.actors.inFlight, lateMs: config.posts.lateSeconds * 1_000 },
    }),
  );
  const health = openHealth({ sql, clock, engine, posts, webhooks, wired: actorTypes });
  measureRooms(metrics, { sql, posts, cache });

  const end = opened.move();
  return {
    config,
    clock,
    vault,
    sql,
    engine,
    bus,
    auth,
    cache,
    channels,
    identity,
    media,
    outbound,
    posts,
    providers,
    webhooks,
    events,
    health,
    logs,
    metrics,
    incarnation,
    actors: actorsOf(engine),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

interface HealthNeeds {
  sql: Database;
  clock: Clock;
  engine: Engine;
  posts: Posts;
  webhooks: Webhooks;
  wired: readonly string[];
}

/** What the health routes and operators ask of this process. The summary is made at most once in five seconds: nobody has to log in to ask for it. */
function openHealth({ sql, clock, engine, posts, webhooks, wired }: HealthNeeds): Health {
  let made: { at: number; report: ReturnType<Health['report']> } | undefined;

  async function reminders(): ReturnType<Health['reminders']> {
    const counted = await engine.reminderCounts();
    if (counted) return { ...counted, from: 'engine' };
    const [ofPosts, ofWebhooks] = await Promise.all([posts.work(), webhooks.work()]);
    return { pending: ofPosts.pending + ofWebhooks.pending, overdue: ofPosts.overdue + ofWebhooks.overdue, from: 'rows' };
  }
  async function report(): ReturnType<Health['report']> {
    const [{ pending }, { p50Ms, p99Ms }, crons] = await Promise.all([reminders(), posts.lateness(), listRuns(sql)]);
    return {
      jobs: { engine: engine.name, wired, pending },
      crons: crons.map(({ name, lastRunAt, lastStatus, lastDurationMs }) => ({ name, lastRunAt, lastStatus, lastDurationMs })),
      lateness: { p50Ms, p99Ms },
    };
  }
  return {
    draining: false,
    reminders,
    report() {
      if (made && clock.monotonic() - made.at < SUMMARY_MS) return made.report;
      const mine = { at: clock.monotonic(), report: report() };
      mine.report.catch(() => void (made === mine && (made = undefined))); // a database that was away is asked again
      made = mine;
      return mine.report;
    },
  };
}

/** Numbers that stand in the rooms. The outbox is counted to a bound: beyond it the exact number says nothing more. */
function measureRooms(metrics: Metrics, { sql, posts, cache }: Pick<Context, 'sql' | 'posts' | 'cache'>): void {
  metrics.gauge('provider_calls', 'Provider calls of this process.', () => ({ under_way: posts.gauges.inFlight, waiting: posts.gauges.waiting }), 'state');
  metrics.gauge('cache_away', '1 while a cache that was configured cannot be reached.', () => (cache.health().awaySince ? 1 : 0));
  metrics.gauge('outbox_waiting', 'Rows that the relay has not dealt out, up to 10,000.', async () => {
    const [row] = await sql<{ n: number }[]>`select count(*)::int as n from (select from outbox /* all orgs */ where refused is null limit 10000) waiting`;
    return row!.n;
  });
  metrics.gauge(
    'database_connections',
    'Connections of all processes of this service, by what they do.',
    async () => {
      const rows = await sql<{ state: string; n: number }[]>`
      select coalesce(state, 'unknown') as state, count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'rookery' group by 1`;
      return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
    },
    'state',
  );
}

interface EngineNeeds {
  sql: Database;
  clock: Clock;
  log: ReturnType<Logs['of']>;
  incarnation: string;
  actorTypes: readonly string[];
}

/** The engine of the configuration with its bus. The other one's code is not even loaded. */
async function openEngine(
  { actors, http }: Config,
  { sql, clock, log, incarnation, actorTypes }: EngineNeeds,
): Promise<{ engine: Engine; bus: Bus } & AsyncDisposable> {
  if (actors.engine === 'dapr') {
    const { openDaprEngine } = await import('./actor-runtime/dapr/index.ts');
    const engine = await openDaprEngine({ ...actors.dapr, types: actorTypes, sql, clock, log, incarnation });
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
