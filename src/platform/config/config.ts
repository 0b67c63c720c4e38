import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AppCredentials, readApps } from './apps.ts';
import { checkTogether, isLoopback } from './checks.ts';
import { emailProvider } from './email.ts';
import { type ConfigIssue, type Env, type Environment, given, readEnv } from './env.ts';
import { deriveSecrets, keepSecret, type Secrets } from './secrets.ts';
import { type VapidKeys, vapidOf } from './vapid.ts';

/** The parsed settings. Made once by `readConfig`; every room takes its part as an argument. */
export interface Config {
  production: boolean;
  /** No CSRF check, no security headers, cookies without `Secure`. In production on this machine alone. */
  notSecured: boolean;
  version: string;
  http: {
    /** Undefined: every address. */
    host: string | undefined;
    port: number;
    frontendUrl: string;
    mainUrl: string;
    adminUrl: string | undefined;
    /** Public address of this service, without a trailing slash. */
    backendUrl: string;
    /** Address of this service inside the deployment. */
    internalUrl: string;
    /** Replaces the token endpoint in the discovery document (OA36). */
    tokenEndpointUrl: string | undefined;
    trustProxyHops: number;
    /** Names of cookies begin with a prefix that browsers know. */
    prefixedCookies: boolean;
    /** Milliseconds for which a process that is asked to end serves on, not ready. */
    shutdownDelayMs: number;
    /** Requests per hour of a bucket without a limit of its own, and the factor on every limit (S240). */
    apiLimit: number;
    rateLimitScale: number;
    appsChallenge: string | undefined;
    mobileAppScheme: string;
  };
  database: {
    url: string | undefined;
    connections: number;
    poolTimeoutSeconds: number | undefined;
    allowDestructive: boolean;
    dataFolder: string;
  };
  redis: { url: string | undefined };
  secrets: Secrets;
  registration: {
    disabled: boolean;
    disallowPlus: boolean;
    refusedPasswords: readonly string[];
    organizationsPerOwner: number;
  };
  login: {
    generic: {
      enabled: boolean;
      authUrl: string | undefined;
      tokenUrl: string | undefined;
      userinfoUrl: string | undefined;
      clientId: string | undefined;
      clientSecret: string | undefined;
      scope: string;
    };
    github: { clientId: string; clientSecret: string } | undefined;
    facebook: boolean;
    x: boolean;
    linkedin: boolean;
  };
  actors: {
    engine: 'embedded' | 'dapr';
    dapr: {
      httpPort: number;
      grpcPort: number;
      apiToken: string | undefined;
      appToken: string | undefined;
      appPort: number;
      placementHealthUrl: string | undefined;
      /** The component by which other applications hear of events. */
      eventsPubsub: string | undefined;
    };
    reminderHorizonHours: number;
    /** Provider calls under way at a time in this process. */
    inFlight: number;
  };
  outbound: {
    timeoutMs: number;
    webhookTimeoutMs: number;
    allowedPrivateCidrs: readonly string[];
    operatorPrivateCidrs: readonly string[];
    sidecars: readonly string[];
    echoUrl: string;
  };
  uploads: {
    folder: string;
    isShared: boolean;
    maxBytes: number;
    restrictDomains: readonly string[];
    localQuotaBytes: number;
  };
  posts: { lateSeconds: number; missedAfterMinutes: number };
  social: {
    sandboxEnabled: boolean;
    /** Where the sandbox network listens; 0 picks a free port when it runs in this process. */
    sandboxPort: number;
    sandboxUrl: string | undefined;
    returnUrlAllowlist: readonly string[];
    /** Networks whose posts go out without links, by provider id. */
    stripLinksFrom: readonly string[];
    plcUrl: string;
    /** App credentials from the environment, by provider id (DE39). */
    apps: Readonly<Record<string, AppCredentials>>;
  };
  payments: {
    publishableKey: string | undefined;
    secretKey: string | undefined;
    signingKey: string | undefined;
    discountId: string | undefined;
    serviceName: string;
    feedbackEmail: string | undefined;
  };
  /** Per dimension: what one pack adds, and its price in cents a month. */
  addons: Readonly<
    Record<
      'storageGb' | 'videoExports' | 'channels' | 'teamSeats' | 'posts' | 'brandKits' | 'webhooks' | 'competitors',
      { perPack: number; priceCents: number }
    >
  >;
  email: {
    /**
     * By which provider mail leaves, with the fields of its adapter. Undefined: none leaves, and users are activated at
     * once.
     */
    provider: { id: string; values: Readonly<Record<string, string>> } | undefined;
    webhookSecret: string | undefined;
  };
  /** Undefined while one of three settings is missing: nothing is pushed that way. */
  push: {
    fcm: { projectId: string; clientEmail: string; privateKey: string } | undefined;
    vapid: VapidKeys | undefined;
  };
  ai: {
    enforceBudgets: boolean;
    designer: { agentTimeoutMs: number; assetTimeoutMs: number; stuckSessionMinutes: number };
    pipeline: { totalTimeoutMs: number; agentTimeoutMs: number };
  };
  /** `redisUrl`: where replicas exchange what is typed. */
  collaboration: { singleInstance: boolean; redisUrl: string | undefined };
  analytics: {
    anomalyZ: number;
    anomalyCooldownDays: number;
    commentsSweepMinutes: number;
    postDaysBack: number;
    /** Networks whose numbers are never asked for, by provider id. */
    skippedNetworks: readonly string[];
    /** Pages of posts that are read at most for one channel, by provider id. */
    mostPages: Readonly<Record<string, number>>;
  };
  /** Days. */
  retention: Readonly<
    Record<
      | 'analyticsDaily'
      | 'analyticsPost'
      | 'emailLog'
      | 'errors'
      | 'notifications'
      | 'mediaJobs'
      | 'multipartUploads'
      | 'softDeleted'
      | 'ip'
      | 'socialComments'
      | 'campaigns'
      | 'designerSessions'
      | 'traces'
      | 'audit',
      number
    >
  >;
  stockMedia: {
    unsplash: string | undefined;
    pexels: string | undefined;
    pixabay: string | undefined;
    giphy: string | undefined;
    openverse: { clientId: string; clientSecret: string } | undefined;
  };
  telemetry: {
    logLevel: string;
    logFormat: 'json' | 'plain' | undefined;
    metricsToken: string | undefined;
    metricsPort: number | undefined;
    metricsHost: string;
    otlpEndpoint: string | undefined;
    serviceName: string;
  };
}

export interface Reading {
  config: Config;
  issues: readonly ConfigIssue[];
  /** True when the process must end, after all issues are printed (DE27, DE28). */
  exits: boolean;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Turns the environment into meaning, and finds everything that is wrong with it. Writes at most the kept secret of a
 * development start.
 */
export function readConfig(source: Environment): Reading {
  const { env, issues: odd } = readEnv(source);
  const production = env.NODE_ENV === 'production';
  const strict = env.CONFIG_CHECK_STRICT;
  const sidecar = env.DAPR_HTTP_PORT !== undefined && env.DAPR_GRPC_PORT !== undefined;
  const engine = env.ACTOR_ENGINE ?? (sidecar ? 'dapr' : 'embedded');
  const { apps, issues: halves } = readApps(env);
  const issues = [...odd, ...checkTogether(env, source, { production, strict, engine }), ...halves];
  const exits = issues.some(
    ({ level, always }) => always || (level === 'fatal' && (strict || (production && !env.NOT_SECURED))),
  );

  const dataFolder = resolve(ROOT, env.DATA_FOLDER);
  const host = env.BACKEND_LISTEN_HOST ?? (production && !env.NOT_SECURED ? undefined : '127.0.0.1');
  const own = ownAddress(host, env.PORT);
  const jwt = env.JWT_SECRET ?? (exits ? '' : keepSecret(dataFolder)); // a process that ends leaves nothing behind

  const config: Config = {
    production,
    notSecured: env.NOT_SECURED,
    version: (JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as { version: string }).version,
    http: httpOf(env, { host, own, production }),
    database: {
      url: env.DATABASE_URL,
      connections: env.DATABASE_CONNECTION_LIMIT ?? 8,
      poolTimeoutSeconds: env.DATABASE_POOL_TIMEOUT,
      allowDestructive: env.ALLOW_DESTRUCTIVE_SCHEMA,
      dataFolder,
    },
    redis: { url: env.REDIS_URL },
    secrets: deriveSecrets({
      jwt,
      key: env.ENCRYPTION_KEY,
      previous: env.ENCRYPTION_KEY_PREVIOUS,
      webhookSigning: env.WEBHOOK_SIGNING_SECRET,
      production,
    }),
    registration: {
      disabled: env.DISABLE_REGISTRATION,
      disallowPlus: env.DISALLOW_PLUS,
      refusedPasswords: env.REFUSED_PASSWORDS_FILE ?? [],
      organizationsPerOwner: env.ORGANIZATIONS_PER_OWNER,
    },
    login: loginOf(env),
    actors: {
      engine,
      dapr: daprOf(env),
      reminderHorizonHours: env.REMINDER_HORIZON_HOURS,
      inFlight: env.PROVIDER_CALLS_IN_FLIGHT,
    },
    outbound: {
      timeoutMs: env.OUTBOUND_HTTP_TIMEOUT_MS,
      webhookTimeoutMs: env.WEBHOOK_TIMEOUT_MS,
      allowedPrivateCidrs:
        env.SSRF_ALLOWED_PRIVATE_CIDRS ??
        (!production &&
        host !== undefined &&
        isLoopback(host) &&
        given(source, 'SSRF_ALLOWED_PRIVATE_CIDRS') === undefined
          ? ['127.0.0.1/32']
          : []),
      operatorPrivateCidrs: env.OPERATOR_ALLOWED_PRIVATE_CIDRS ?? [],
      sidecars: env.EGRESS_SIDECARS ?? [],
      echoUrl: env.EGRESS_ECHO_URL ?? 'https://api.ipify.org?format=json',
    },
    uploads: {
      folder: env.UPLOAD_FOLDER === undefined ? resolve(dataFolder, 'uploads') : resolve(ROOT, env.UPLOAD_FOLDER),
      isShared: env.UPLOAD_FOLDER_SHARED ?? true,
      maxBytes: env.MEDIA_UPLOAD_MAX_BYTES,
      restrictDomains: env.RESTRICT_UPLOAD_DOMAINS ?? [],
      localQuotaBytes: env.LOCAL_STORAGE_QUOTA_GB * 1024 ** 3,
    },
    posts: { lateSeconds: env.POST_LATE_SECONDS, missedAfterMinutes: env.MISSED_AFTER_MINUTES },
    social: {
      sandboxEnabled: env.SANDBOX_ENABLED ?? !production,
      sandboxPort: env.SANDBOX_PORT,
      sandboxUrl: env.SANDBOX_URL,
      plcUrl: env.BLUESKY_PLC_URL ?? 'https://plc.directory',
      returnUrlAllowlist: (env.INTEGRATION_RETURN_URL_ALLOWLIST ?? []).map((origin) => new URL(origin).origin),
      stripLinksFrom: env.STRIP_LINKS_FROM_X_POSTS ? ['x'] : [],
      apps,
    },
    payments: paymentsOf(env),
    addons: addonsOf(env),
    email: { provider: emailProvider(env), webhookSecret: env.EMAIL_WEBHOOK_SECRET },
    push: { fcm: fcmOf(env), vapid: vapidOf(env) },
    ai: aiOf(env),
    collaboration: {
      singleInstance: env.COLLAB_SINGLE_INSTANCE,
      redisUrl: env.COLLAB_REDIS_ADAPTER === 'true' ? env.REDIS_URL : env.COLLAB_REDIS_ADAPTER,
    },
    analytics: analyticsOf(env),
    retention: retentionOf(env),
    stockMedia: stockMediaOf(env),
    telemetry: {
      logLevel: env.LOG_LEVEL,
      logFormat: env.LOG_FORMAT ?? (!production && source['npm_lifecycle_event'] === 'start' ? 'plain' : undefined),
      metricsToken: env.METRICS_TOKEN,
      metricsPort: env.METRICS_PORT,
      metricsHost: env.METRICS_LISTEN_HOST,
      otlpEndpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT,
      serviceName: env.OTEL_SERVICE_NAME,
    },
  };
  return { config, issues, exits };
}

/** Where this process can be asked on this machine. */
function ownAddress(host: string | undefined, port: number): string {
  if (host === undefined || host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

interface Place {
  host: string | undefined;
  /** The address of this process, for whoever is given no other. */
  own: string;
  production: boolean;
}
function httpOf(env: Env, { host, own, production }: Place): Config['http'] {
  const frontendUrl = env.FRONTEND_URL ?? env.MAIN_URL ?? own;
  return {
    host,
    port: env.PORT,
    frontendUrl,
    mainUrl: env.MAIN_URL ?? frontendUrl,
    adminUrl: env.ADMIN_URL,
    backendUrl: env.NEXT_PUBLIC_BACKEND_URL ?? own,
    internalUrl: env.BACKEND_INTERNAL_URL ?? own,
    tokenEndpointUrl: env.NEXT_PUBLIC_OVERRIDE_BACKEND_URL,
    trustProxyHops: env.TRUST_PROXY_HOPS,
    prefixedCookies: env.PREFIXED_COOKIES && !env.NOT_SECURED,
    shutdownDelayMs: (env.SHUTDOWN_DELAY_SECONDS ?? (production ? 3 : 0)) * 1_000,
    apiLimit: env.API_LIMIT,
    rateLimitScale: env.RATE_LIMIT_SCALE,
    appsChallenge: env.APPS_CHALLENGE,
    mobileAppScheme: env.MOBILE_APP_SCHEME,
  };
}

const daprOf = (env: Env): Config['actors']['dapr'] => ({
  httpPort: env.DAPR_HTTP_PORT ?? 0,
  grpcPort: env.DAPR_GRPC_PORT ?? 0,
  apiToken: env.DAPR_API_TOKEN,
  appToken: env.APP_API_TOKEN,
  appPort: env.APP_PORT,
  placementHealthUrl: env.DAPR_PLACEMENT_HEALTH_URL,
  eventsPubsub: env.DAPR_EVENTS_PUBSUB,
});

const loginOf = (env: Env): Config['login'] => ({
  generic: {
    enabled: env.SERVICE_GENERIC_OAUTH,
    authUrl: env.SERVICE_OAUTH_AUTH_URL,
    tokenUrl: env.SERVICE_OAUTH_TOKEN_URL,
    userinfoUrl: env.SERVICE_OAUTH_USERINFO_URL,
    clientId: env.SERVICE_OAUTH_CLIENT_ID,
    clientSecret: env.SERVICE_OAUTH_CLIENT_SECRET,
    scope: env.SERVICE_OAUTH_SCOPE,
  },
  github:
    env.GITHUB_CLIENT_ID && env.GITHUB_CLIENT_SECRET
      ? { clientId: env.GITHUB_CLIENT_ID, clientSecret: env.GITHUB_CLIENT_SECRET }
      : undefined,
  facebook: env.FACEBOOK_SSO_ENABLED,
  x: env.X_SSO_ENABLED,
  linkedin: env.LINKEDIN_SSO_ENABLED,
});

const paymentsOf = (env: Env): Config['payments'] => ({
  publishableKey: env.PAYMENTS_PUBLISHABLE_KEY,
  secretKey: env.PAYMENTS_SECRET_KEY,
  signingKey: env.PAYMENTS_SIGNING_KEY,
  discountId: env.PAYMENTS_DISCOUNT_ID,
  serviceName: env.PAYMENTS_SERVICE_NAME,
  feedbackEmail: env.BILLING_FEEDBACK_EMAIL,
});

const addonsOf = (env: Env): Config['addons'] => ({
  storageGb: { perPack: env.ADDON_STORAGE_GB_PER_PACK, priceCents: env.ADDON_STORAGE_PRICE_CENTS },
  videoExports: { perPack: env.ADDON_VIDEO_EXPORTS_PER_PACK, priceCents: env.ADDON_VIDEO_EXPORTS_PRICE_CENTS },
  channels: { perPack: env.ADDON_CHANNELS_PER_PACK, priceCents: env.ADDON_CHANNELS_PRICE_CENTS },
  teamSeats: { perPack: env.ADDON_TEAM_SEATS_PER_PACK, priceCents: env.ADDON_TEAM_SEATS_PRICE_CENTS },
  posts: { perPack: env.ADDON_POSTS_PER_PACK, priceCents: env.ADDON_POSTS_PRICE_CENTS },
  brandKits: { perPack: env.ADDON_BRAND_KITS_PER_PACK, priceCents: env.ADDON_BRAND_KITS_PRICE_CENTS },
  webhooks: { perPack: env.ADDON_WEBHOOKS_PER_PACK, priceCents: env.ADDON_WEBHOOKS_PRICE_CENTS },
  competitors: { perPack: env.ADDON_COMPETITORS_PER_PACK, priceCents: env.ADDON_COMPETITORS_PRICE_CENTS },
});

const aiOf = (env: Env): Config['ai'] => ({
  enforceBudgets: env.AI_PROVIDER_BUDGET_ENFORCE,
  designer: {
    agentTimeoutMs: env.AI_DESIGNER_AGENT_TIMEOUT_MS,
    assetTimeoutMs: env.AI_DESIGNER_ASSET_TIMEOUT_MS,
    stuckSessionMinutes: env.AI_DESIGNER_STUCK_SESSION_MINUTES,
  },
  pipeline: {
    totalTimeoutMs: env.CONTENT_PIPELINE_TOTAL_TIMEOUT_MS,
    agentTimeoutMs: env.CONTENT_PIPELINE_AGENT_TIMEOUT_MS,
  },
});

const analyticsOf = (env: Env): Config['analytics'] => ({
  anomalyZ: env.ANALYTICS_ANOMALY_Z,
  anomalyCooldownDays: env.ANALYTICS_ANOMALY_COOLDOWN_DAYS,
  commentsSweepMinutes: env.COMMENTS_SWEEP_INTERVAL_MINUTES,
  postDaysBack: env.POST_DAYS_BACK,
  skippedNetworks: env.DISABLE_X_ANALYTICS ? ['x'] : [],
  mostPages: { x: env.X_ANALYTICS_MAX_PAGE_DEPTH },
});

const retentionOf = (env: Env): Config['retention'] => ({
  analyticsDaily: env.ANALYTICS_DAILY_RETENTION_DAYS,
  analyticsPost: env.ANALYTICS_POST_RETENTION_DAYS,
  emailLog: env.EMAIL_LOG_RETENTION_DAYS,
  errors: env.ERRORS_RETENTION_DAYS,
  notifications: env.NOTIFICATIONS_RETENTION_DAYS,
  mediaJobs: env.MEDIA_JOBS_RETENTION_DAYS,
  multipartUploads: env.MULTIPART_UPLOAD_RETENTION_DAYS,
  softDeleted: env.SOFT_DELETE_RETENTION_DAYS,
  ip: env.IP_RETENTION_DAYS,
  socialComments: env.SOCIAL_COMMENT_RETENTION_DAYS,
  campaigns: env.CAMPAIGN_PURGE_DAYS,
  designerSessions: env.AI_DESIGNER_SESSION_RETENTION_DAYS,
  traces: env.MASTRA_TRACE_RETENTION_DAYS,
  audit: env.AUDIT_RETENTION_DAYS,
});

const stockMediaOf = (env: Env): Config['stockMedia'] => ({
  unsplash: env.UNSPLASH_ACCESS_KEY,
  pexels: env.PEXELS_API_KEY,
  pixabay: env.PIXABAY_API_KEY,
  giphy: env.GIPHY_API_KEY,
  openverse:
    env.OPENVERSE_CLIENT_ID && env.OPENVERSE_CLIENT_SECRET
      ? { clientId: env.OPENVERSE_CLIENT_ID, clientSecret: env.OPENVERSE_CLIENT_SECRET }
      : undefined,
});

const fcmOf = (env: Env): Config['push']['fcm'] =>
  env.FCM_PROJECT_ID && env.FCM_CLIENT_EMAIL && env.FCM_PRIVATE_KEY
    ? {
        projectId: env.FCM_PROJECT_ID,
        clientEmail: env.FCM_CLIENT_EMAIL,
        privateKey: env.FCM_PRIVATE_KEY.replaceAll('\\n', '\n'),
      } // as key files write it
    : undefined;
