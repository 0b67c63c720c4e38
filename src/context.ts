import { randomUUID } from 'node:crypto';
import { actorsOf, type Actors, type Bus, type Engine } from './actor-runtime/index.ts';
import { type Auth, openAuth } from './auth/index.ts';
import { type Cache, openCache } from './cache/index.ts';
import { type Channels, openChannels } from './channels/index.ts';
import type { Config } from './config/config.ts';
import { type Database, openDatabase } from './db/index.ts';
import { type Identity, openIdentity } from './identity/index.ts';
import { type Clock, openVault, systemClock, tenantKey, type Vault } from './kernel/index.ts';
import { type Media, openMedia } from './media/index.ts';
import { openOutbound, type Outbound } from './outbound/index.ts';
import { type Nudges, openPosts, type Posts } from './posts/index.ts';
import { openProviders, type Providers } from './providers/index.ts';
import { type Health, type Logs, type Metrics, openMetrics } from './telemetry/index.ts';
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

/** Builds every room, each with its part of the configuration; disposing of it closes them in reverse. Only here is it known which engine, cache and bus were chosen. */
export async function openContext(config: Config, { logs, actorTypes, channelType, sandboxUrl, clock = systemClock, authorities }: Options): Promise<Context & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const incarnation = randomUUID();
  const sql = openDatabase({ url: config.database.url!, connections: config.database.connections });
  opened.defer(() => sql.end({ timeout: 5 }));
  const metrics = openMetrics();
  const cache = opened.use(await openCache(config.redis.url, clock));
  const vault = openVault(config.secrets.encryptionKey);

  const { engine, bus } = opened.use(await openEngine(config, { sql, clock, log: logs.of('actors'), incarnation, actorTypes }));
  const outbound = opened.use(openOutbound({ ...config.outbound, ...(authorities && { authorities }) }));
  const providers = openProviders({
    outbound, clock, sandboxEnabled: config.social.sandboxEnabled, apps: config.social.apps,
    ...(sandboxUrl !== undefined && { servers: { sandbox: sandboxUrl } }),
  });
  const identity = openIdentity({ sql, registrationDisabled: config.registration.disabled });
  const auth = opened.use(
    openAuth({ sql, clock, identity, jwtSecret: config.secrets.jwt, disallowPlus: config.registration.disallowPlus, failed: (error) => logs.of('auth').warn({ err: error }, 'a note of last use was not written') }),
  );
  const media = await openMedia({ sql, clock, outbound, folder: config.uploads.folder, backendUrl: config.http.backendUrl, maxBytes: config.uploads.maxBytes, restrictDomains: config.uploads.restrictDomains });
  const channels = openChannels({ sql, clock, vault, providers, outbound, frontendUrl: config.http.frontendUrl, returnUrlAllowlist: config.social.returnUrlAllowlist });
  const webhooks = openWebhooks({
    sql, clock, vault, outbound, incarnation, signingKey: config.secrets.webhookSigning, timeoutMs: config.outbound.webhookTimeoutMs, log: logs.of('webhooks'),
  });
  const nudges: Nudges = {
    within: (transaction, due) =>
      engine.remindWithin(transaction, due.map(({ orgId, channelId, dueAt }) => ({ type: channelType, id: tenantKey(orgId, channelId), name: 'due', due: dueAt, owner: orgId }))),
  };
  const posts = opened.use(
    openPosts({
      sql, clock, nudges, channels, media, incarnation, beat: engine, log: logs.of('posts'),
      options: { horizonMs: config.actors.reminderHorizonHours * HOUR_MS, inFlight: config.actors.inFlight, lateMs: config.posts.lateSeconds * 1_000 },
    }),
  );
  const health: Health = {
    draining: false,
    async report() {
      const [counts, lateness] = await Promise.all([engine.reminderCounts(), posts.lateness()]);
      return { jobs: { engine: engine.name, wired: actorTypes, pending: counts?.pending ?? 0 }, crons: [], lateness };
    },
  };

  const end = opened.move();
  return {
    config, clock, vault, sql, engine, bus, auth, cache, channels, identity, media, outbound, posts, providers, webhooks, health, logs, metrics, incarnation,
    actors: actorsOf(engine),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

interface EngineNeeds { sql: Database; clock: Clock; log: ReturnType<Logs['of']>; incarnation: string; actorTypes: readonly string[] }

/** The engine of the configuration with its bus. The other one's code is not even loaded. */
async function openEngine({ actors, http }: Config, { sql, clock, log, incarnation, actorTypes }: EngineNeeds): Promise<{ engine: Engine; bus: Bus } & AsyncDisposable> {
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
