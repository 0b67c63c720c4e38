import { randomUUID } from 'node:crypto';
import { permissionsOf, SYSTEM_ROLES } from './people/access/index.ts';
import { actorsOf, type Actors, type Bus, type Engine } from './platform/actor-runtime/index.ts';
import { type Admin, openAdmin } from './operations/admin/index.ts';
import { type ErrorLog, openErrorLog } from './platform/error-log/index.ts';
import { type Auth, openAuth, openTokens } from './people/auth/index.ts';
import { addonsOf, type Billing, openBilling } from './entitlements/index.ts';
import { openPayments, type Payments, paymentsOff } from './billing/payments/index.ts';
import { openStripe } from './billing/processor/index.ts';
import { type Cache, openCache } from './platform/cache/index.ts';
import {
  type Channels,
  disableForPlan as disableChannels,
  openChannels,
  pauseQueue,
  resumeQueue,
  stopAll as stopChannels,
} from './publishing/channels/index.ts';
import type { Config } from './platform/config/index.ts';
import { type Database, openDatabase } from './platform/db/index.ts';
import { type Egress, openEgress } from './publishing/egress/index.ts';
import { type EmailRoom, openEmail, openOverride, type Outlet } from './delivery/email/index.ts';
import { type Identity, openIdentity, setupTokenOf } from './people/identity/index.ts';
import { type Clock, hmacHex, openVault, systemClock, tenantKey, type Vault } from './platform/kernel/index.ts';
import { environmentLogins, type Login, openLogins, ssoOf } from './people/federated-login/index.ts';
import { type Media, openMedia, urlOfKey } from './library/media/index.ts';
import { disableForPlan as disableMembers, type Members, openMembers } from './people/members/index.ts';
import { approvalNamesOf, deleteApprovalsOf, type OAuth, openOAuth } from './oauth-server/index.ts';
import { type Health, measureRooms, openHealth } from './operations/health/index.ts';
import { openOrganizations, type Organizations } from './people/organizations/index.ts';
import { openOutbound, type Outbound, type OutboundOptions } from './platform/outbound/index.ts';
import { openPosts, type Posts, type ReminderMoves } from './publishing/posts/index.ts';
import { openCallCounts, openProviderCatalog, type ProviderCatalog } from './providers/catalog/index.ts';
import { openChanges, openProviderSettings, type ProviderSettings } from './providers/settings/index.ts';
import { type EmailAdapter, openProviders, type Providers, type ProvidersOptions } from './providers/registry/index.ts';
import { openShortlinks, type Shortlinks } from './publishing/shortlinks/index.ts';
import { type Events, type Logs, type Metrics, openEvents, openMetrics } from './platform/telemetry/index.ts';
import { openStock, type Stock } from './library/stock/index.ts';
import { openWebhooks, type Webhooks } from './delivery/webhooks/index.ts';

/** Every room of one process, built once. */
export interface Context {
  readonly config: Config;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly sql: Database;
  readonly engine: Engine;
  readonly bus: Bus;
  readonly actors: Actors;
  readonly admin: Admin;
  readonly auth: Auth;
  readonly billing: Billing;
  readonly cache: Cache;
  readonly channels: Channels;
  readonly egress: Egress;
  readonly email: EmailRoom;
  readonly identity: Identity;
  readonly login: Login;
  readonly media: Media;
  readonly members: Members;
  readonly oauth: OAuth;
  readonly organizations: Organizations;
  readonly outbound: Outbound;
  readonly payments: Payments;
  readonly posts: Posts;
  readonly providers: Providers;
  readonly providerCatalog: ProviderCatalog;
  readonly providerSettings: ProviderSettings;
  readonly shortlinks: Shortlinks;
  readonly stock: Stock;
  readonly webhooks: Webhooks;
  readonly errors: Pick<ErrorLog, 'list' | 'dropOld'>;
  readonly events: Events;
  readonly health: Health;
  readonly logs: Logs;
  readonly metrics: Metrics;
  /** Of this start of this process. */
  readonly incarnation: string;
}

export interface ContextOptions {
  logs: Logs;
  /** Every actor type there is, hosted here or not. */
  actorTypes: readonly string[];
  /** The type whose reminder `due` is moved when a channel's next due time changes. */
  channelType: string;
  /** Address of the sandbox network, where it is there. */
  sandboxUrl: string | undefined;
  /** What follows is for tests: parts at the edge of the process in the place of the configured ones. */
  clock?: Clock;
  /** A pool that is open already; whoever opened it closes it. */
  sql?: Database;
  /** An engine with its bus; whoever opened them closes them. */
  engine?: EngineAndBus;
  /** Address of a payment processor. */
  paymentsServer?: string;
  /** Base addresses of providers in the place of their own, by `domain/id` or, of a further host, `domain/id/name`. */
  servers?: Readonly<Record<string, string>>;
  /** Providers beside the product's own. */
  adapters?: ProvidersOptions['adapters'];
  /** Names, sockets and trusted certificates of outgoing calls. */
  network?: Pick<OutboundOptions, 'resolver' | 'connector' | 'authorities'>;
}

/** What runs the actors, and what wakes processes. */
export interface EngineAndBus {
  readonly engine: Engine;
  readonly bus: Bus;
}

const HOUR_MS = 3_600_000;

/** Builds every room, each with its part of the configuration; disposing of it closes them in reverse. Only here is it known which engine, cache and bus were chosen. */
export async function openContext(
  config: Config,
  {
    logs: given,
    actorTypes,
    channelType,
    sandboxUrl,
    clock = systemClock,
    paymentsServer,
    servers = {},
    adapters = [],
    network = {},
    ...parts
  }: ContextOptions,
): Promise<Context & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const incarnation = randomUUID();
  const sql = parts.sql ?? openPool(config, opened);
  const errors = opened.use(openErrorLog({ sql, logs: given, incarnation, retentionDays: config.retention.errors }));
  const { logs } = errors;
  const metrics = openMetrics();
  const events = openEvents(logs.of('events'), metrics);
  const cache = opened.use(
    await openCache(config.redis.url, clock, {
      onChange: (state, reason) => (state === 'away' ? events.cacheAway({ reason }) : events.cacheBack()),
      onHandlerError: (channel, error) => logs.of('cache').error({ channel, err: error }, 'a message was not understood'),
    }),
  );
  const vault = openVault(config.secrets.encryptionKey, config.secrets.formerKeys);

  const { engine, bus } = parts.engine ?? opened.use(await openEngine(config, { sql, clock, log: logs.of('actors'), incarnation, actorTypes }));
  const { operatorPrivateCidrs, ...outboundConfig } = config.outbound;
  const outbound = opened.use(openOutbound({ ...outboundConfig, ...network }));
  const operatorCidrs = [...outboundConfig.allowedPrivateCidrs, ...operatorPrivateCidrs];
  const operatorOutbound = opened.use(openOutbound({ ...outboundConfig, ...network, allowedPrivateCidrs: operatorCidrs }));
  const calls = opened.use(
    openCallCounts({ sql, clock, failed: (error) => logs.of('providers').warn({ err: error }, 'the health of providers was not written') }),
  );
  const providers = openProviders({
    outbound,
    operatorOutbound,
    clock,
    sandboxEnabled: config.social.sandboxEnabled,
    apps: config.social.apps,
    onCall: calls.note,
    sso: ssoOf(config.login),
    echoUrl: config.outbound.echoUrl,
    timeoutMs: config.outbound.timeoutMs,
    folder: config.uploads.folder,
    adapters,
    servers: { 'social/bluesky/plc': config.social.plcUrl, ...servers, ...(sandboxUrl !== undefined && { 'social/sandbox': sandboxUrl }) },
    ...(network.authorities && { authorities: network.authorities }),
  });
  const providerCatalog = openProviderCatalog({ sql, providers, calls });
  await providerCatalog.featured.seed();
  const outlet = openOutlet(config, providers);
  opened.defer(() => outlet?.mailer.close());
  const override = opened.use(
    openOverride({
      read: () => mailSettingsOf(config, providerSettings),
      open: ({ adapter, values }) => outletOf(providers, adapter, providers.fields(adapter, values)),
    }),
  );
  const email = openEmail({
    sql,
    clock,
    vault,
    outlet,
    override: override.current,
    site: siteOf(config),
    log: logs.of('email'),
    events,
    retentionDays: config.retention.emailLog,
  });
  const billing = openBilling({
    sql,
    enabled: config.payments.publishableKey !== undefined,
    addons: addonsOf(config.addons),
    stop: { channels: disableChannels, members: disableMembers },
  });
  await billing.begin();
  const payments = opened.use(await openPaymentsOf(config, { sql, clock, vault, email, billing, events, log: logs.of('billing'), server: paymentsServer }));
  const identity = openIdentity({
    sql,
    registrationDisabled: config.registration.disabled,
    setupToken: setupTokenOf(config.secrets.jwt),
    forgetMails: email.forgetMails,
    urlOfPicture: (key) => urlOfKey(config.http.backendUrl, key),
  });
  const auth = opened.use(
    openAuth({
      sql,
      clock,
      identity,
      billing,
      approvals: { namesOf: approvalNamesOf, endAllOf: deleteApprovalsOf },
      email,
      jwtSecret: config.secrets.jwt,
      frontendUrl: config.http.frontendUrl,
      disallowPlus: config.registration.disallowPlus,
      tracesDays: config.retention.ip,
      log: logs.of('auth'),
      failed: (error) => logs.of('auth').warn({ err: error }, 'what is written behind an answer was not written'),
    }),
  );
  const oauth = opened.use(
    openOAuth({
      sql,
      clock,
      auth,
      issuer: config.http.backendUrl,
      failed: (error) => logs.of('auth').warn({ err: error }, 'a note of last use was not written'),
    }),
  );
  const changes = opened.use(await openChanges({ cache, providers }));
  const providerSettings = openProviderSettings({ sql, clock, vault, providers, outbound, operatorOutbound, changes });
  const media = opened.use(
    await openMedia({
      ...config.uploads,
      sql,
      clock,
      outbound,
      billing,
      providers,
      settings: providerSettings,
      backendUrl: config.http.backendUrl,
      retention: { deletedDays: config.retention.softDeleted, uploadDays: config.retention.multipartUploads },
      signingKey: hmacHex(config.secrets.jwt, 'parts of uploads'),
      log: logs.of('media'),
    }),
  );
  const login = openLogins({
    sql,
    vault,
    providers,
    settings: providerSettings,
    identity,
    sessions: auth.sessions,
    addresses: config.http,
    fallbacks: environmentLogins(config),
  });
  const egress = openEgress({ sql, clock, providers, settings: providerSettings, events });
  const channels = openChannels({
    egress,
    sql,
    clock,
    vault,
    providers,
    outbound,
    billing,
    frontendUrl: config.http.frontendUrl,
    returnUrlAllowlist: config.social.returnUrlAllowlist,
    events,
  });
  const members = openMembers({ sql, billing, email, frontendUrl: config.http.frontendUrl });
  const organizations = openOrganizations({
    sql,
    mostOwned: config.registration.organizationsPerOwner,
    billing,
    stopChannels,
    providers,
    endSubscription: payments.endAll,
  });
  const admin = openAdmin({
    sql,
    billing,
    plans: payments,
    tokens: auth.tokens,
    queues: { pause: (transaction, orgId, message) => pauseQueue(transaction, orgId, message, 'instance'), resume: resumeQueue },
    lateSeconds: config.posts.lateSeconds,
  });
  const webhooks = openWebhooks({
    sql,
    clock,
    vault,
    outbound,
    billing,
    incarnation,
    signingKey: config.secrets.webhookSigning,
    timeoutMs: config.outbound.webhookTimeoutMs,
    log: logs.of('webhooks'),
    events,
  });
  const shortlinks = openShortlinks({ sql, clock, providers, organizations, settings: providerSettings, log: logs.of('shortlinks') });
  const stock = openStock({ cache, clock, keys: config.stockMedia, media, providers, settings: providerSettings });
  const reminders: ReminderMoves = {
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
      reminders,
      channels,
      media,
      links: shortlinks,
      incarnation,
      heartbeat: engine,
      log: logs.of('posts'),
      events,
      options: {
        horizonMs: config.actors.reminderHorizonHours * HOUR_MS,
        inFlight: config.actors.inFlight,
        lateMs: config.posts.lateSeconds * 1_000,
        deletedDays: config.retention.softDeleted,
      },
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
    admin,
    auth,
    billing,
    cache,
    channels,
    egress,
    email,
    identity,
    login,
    media,
    members,
    oauth,
    organizations,
    outbound,
    payments,
    posts,
    providers,
    providerCatalog,
    providerSettings,
    shortlinks,
    stock,
    webhooks,
    errors,
    events,
    health,
    logs,
    metrics,
    incarnation,
    actors: actorsOf(engine),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

function openPool({ database }: Config, opened: AsyncDisposableStack): Database {
  const sql = openDatabase({ url: database.url!, connections: database.connections, connectTimeoutSeconds: database.poolTimeoutSeconds });
  opened.defer(() => sql.end({ timeout: 5 }));
  return sql;
}

/** The provider of mail that the settings choose, if it can send. */
function openOutlet({ email: { provider } }: Config, providers: Providers): Outlet | undefined {
  const adapter = providers.resolve('email', provider?.id ?? 'empty');
  return outletOf(providers, adapter, provider ? providers.fields(adapter, provider.values) : {});
}
function outletOf(providers: Providers, adapter: EmailAdapter, values: Readonly<Record<string, string>>): Outlet | undefined {
  const mailer = providers.mailer(adapter, values);
  return mailer && { providerId: adapter.id, providerVersion: adapter.version, mailer, reports: providers.mailReports(adapter, values) };
}
/** What operators keep in the database for that provider; what proves its events may stay in the environment. */
async function mailSettingsOf({ email: { provider } }: Config, settings: ProviderSettings) {
  const kept = provider && (await settings.configured(null, 'email')).get(provider.id);
  const key = kept?.adapter.events?.key;
  const proof = key === undefined ? undefined : provider?.values[key];
  return kept && { adapter: kept.adapter, values: { ...(proof !== undefined && { [key!]: proof }), ...kept.values } };
}
/** What mails say of this service. */
export const siteOf = ({ email: { provider }, http }: Config) => ({ name: provider?.values['fromName'] || 'Rookery', url: http.frontendUrl });

interface PaymentsNeeds extends Pick<Context, 'sql' | 'clock' | 'vault' | 'email' | 'billing' | 'events'> {
  log: ReturnType<Logs['of']>;
  server?: string | undefined;
}

/** What orgs pay, by the processor of the configuration; without its keys nothing is paid. */
export async function openPaymentsOf(config: Config, { server, ...needs }: PaymentsNeeds): Promise<Payments> {
  const { publishableKey, secretKey, signingKey, ...settings } = config.payments;
  const addons = addonsOf(config.addons);
  if (publishableKey === undefined) return paymentsOff({ addons });
  const tokens = openTokens({ secret: config.secrets.jwt, clock: needs.clock, log: needs.log });
  return openPayments({
    ...needs,
    addons,
    settings,
    processor: await openStripe({ secretKey, signingKey, serviceName: settings.serviceName, server }),
    codes: { sign: tokens.signLifetime, read: tokens.verifyLifetime },
    frontendUrl: config.http.frontendUrl,
    payingRoles: SYSTEM_ROLES.filter((role) => permissionsOf(role, false).has('billing:manage')),
    queue: { pauseQueue, resumeQueue },
  });
}

interface EngineNeeds {
  sql: Database;
  clock: Clock;
  log: ReturnType<Logs['of']>;
  incarnation: string;
  actorTypes: readonly string[];
}

/** The engine of the configuration with its bus. The other one's code is not even loaded. */
async function openEngine({ actors, http }: Config, { sql, clock, log, incarnation, actorTypes }: EngineNeeds): Promise<EngineAndBus & AsyncDisposable> {
  if (actors.engine === 'dapr') {
    const { openDaprEngine } = await import('./platform/actor-runtime/dapr/index.ts');
    const engine = await openDaprEngine({ ...actors.dapr, types: actorTypes, sql, clock, log, incarnation });
    return { engine, bus: engine.bus, [Symbol.asyncDispose]: () => engine.close() };
  }
  const { openEmbeddedBus, openEmbeddedEngine } = await import('./platform/actor-runtime/embedded/index.ts');
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
