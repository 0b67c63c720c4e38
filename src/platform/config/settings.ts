import { isCidr } from '../kernel/index.ts';
import {
  address,
  anyText,
  base,
  decimal,
  flag,
  isDomain,
  isOrigin,
  isSidecar,
  linesOfFile,
  list,
  oneOf,
  secretText,
  whole,
} from './kinds.ts';
import { appSettings } from './network-apps.ts';

// Every variable that the service reads, in the order of the reference. What values mean together is in `config.ts` and
// `checks.ts`.

const service = {
  NODE_ENV: anyText('`production` turns on every check of a real deployment; nothing embedded starts then.'),
  NOT_SECURED: flag(
    false,
    'Plain http without cookies marked `Secure`, without CSRF check and security headers. ' +
      'In production all public addresses must be of this machine, and it listens there alone.',
  ),
  PREFIXED_COOKIES: flag(
    false,
    'Names of cookies begin with `__Host-`, or with `__Secure-` where application and API share a parent domain, so ' +
      'that browsers take them from this service over https alone. The application reads `csrf_token` under that name.',
  ),
  CONFIG_CHECK_STRICT: flag(
    false,
    'A fatal configuration issue ends the process everywhere; otherwise only in production with `NOT_SECURED` unset.',
  ),
  IS_GENERAL: flag(undefined, 'Must be true for standard self-hosting.'),
  FRONTEND_URL: base(
    'Public address of the application. One of `FRONTEND_URL` and `MAIN_URL` is required in production.',
    {
      otherwise: '`MAIN_URL`, else the own address',
    },
  ),
  MAIN_URL: base('Public address of the application, used when `FRONTEND_URL` is not set.'),
  ADMIN_URL: base(
    'Public address of the separate administration application: browsers may use the console routes from there.',
    {
      otherwise: 'none',
    },
  ),
  NEXT_PUBLIC_BACKEND_URL: base('Public address of this service. Required in production.', {
    otherwise: 'the own address',
  }),
  NEXT_PUBLIC_OVERRIDE_BACKEND_URL: base(
    'Public address of this service for the token endpoint alone, in the discovery document of the OAuth server.',
    { otherwise: '`NEXT_PUBLIC_BACKEND_URL`' },
  ),
  BACKEND_INTERNAL_URL: base('Address of this service inside the deployment. Required in production.', {
    otherwise: 'the own address',
  }),
  BACKEND_LISTEN_HOST: anyText('Address to listen on.', {
    otherwise: 'every address in production, `127.0.0.1` elsewhere and with `NOT_SECURED`',
  }),
  PORT: whole(3000, 'Port to listen on; 0 takes a free one.', { max: 65_535 }),
  SHUTDOWN_DELAY_SECONDS: whole(
    undefined,
    'After SIGTERM: serves on for so long while `/health/ready` answers 503 and connections are told to close, ' +
      'so that a load balancer stops sending. Ending takes up to 10 s more; ' +
      'the grace period of the deployment must be above both.',
    { max: 300, otherwise: '3 in production, 0 elsewhere' },
  ),
  DATA_FOLDER: anyText(
    'Folder for what the service keeps on this machine: embedded database, uploads, secrets made for development.',
    { fallback: '.data' },
  ),
  TRUST_PROXY_HOPS: whole(
    0,
    'Number of appending reverse proxies in front; the Nth entry from the right of `x-forwarded-for` is the ' +
      'caller. Unset or invalid: the address of the connection.',
    { max: 32 },
  ),
  API_LIMIT: whole(600, 'Requests per hour of one caller on one route that has no limit of its own.', { min: 1 }),
  RATE_LIMIT_SCALE: decimal(1, 'Multiplies every rate limit, those of single routes included.'),
  APPS_CHALLENGE: anyText('What `/.well-known/apps-challenge` answers; without it 404.'),
  MOBILE_APP_SCHEME: anyText('Deep link of the mobile application for its login.', {
    fallback: 'service://auth/callback',
  }),
};

const storage = {
  DATABASE_URL: address(
    ['postgres', 'postgresql'],
    'Connection to Postgres. Required in production and with several processes.',
    {
      secret: true,
      otherwise: 'a Postgres of npm in `DATA_FOLDER`',
    },
  ),
  DATABASE_CONNECTION_LIMIT: whole(undefined, 'Connections of one process to the database.', {
    min: 1,
    max: 1_000,
    otherwise: '8',
  }),
  DATABASE_POOL_TIMEOUT: whole(undefined, 'Seconds until the pool gives up on a new connection.', {
    min: 1,
    otherwise: '10',
  }),
  ALLOW_DESTRUCTIVE_SCHEMA: flag(false, 'Lets migrations run that drop data.'),
  REDIS_URL: address(['redis', 'rediss'], 'Connection to Redis. Required in production.', {
    secret: true,
    otherwise: 'a cache inside the process',
  }),
};

const secrets = {
  JWT_SECRET: secretText('Signs sessions. At least 32 characters in production, and none that can be guessed.', {
    otherwise: 'outside production made once and kept in `DATA_FOLDER`',
  }),
  ENCRYPTION_KEY: secretText(
    'Seals stored credentials: 44 characters of base64 or 64 hexadecimal ones that decode to 32 bytes; ' +
      'other values are hashed. Once it is changed, what is stored opens only by `ENCRYPTION_KEY_PREVIOUS`.',
    { otherwise: 'SHA-256 of `JWT_SECRET`' },
  ),
  ENCRYPTION_KEY_PREVIOUS: secretText(
    'Opens what was sealed before `ENCRYPTION_KEY` was changed: its value until then, ' +
      'or `JWT_SECRET` when there was none. `node rookery.mjs reencrypt` seals everything anew; ' +
      'remove this setting afterwards.',
  ),
  WEBHOOK_SIGNING_SECRET: secretText(
    'Signs webhook deliveries in `X-Service-Signature`, for all organizations: ' +
      'whoever is told it can forge those of others. Receivers check `webhook-signature`, ' +
      'by the secret of their own webhook.',
    { otherwise: 'in production a key derived from `JWT_SECRET`, elsewhere `JWT_SECRET`' },
  ),
};

const login = {
  DISABLE_REGISTRATION: flag(
    false,
    'Nobody registers by themselves any more, but for the first super-admin, ' +
      'by the setup token that an empty instance prints, and sign-ins by generic OIDC.',
  ),
  ORGANIZATIONS_PER_OWNER: whole(10, 'Organizations that one person may own. Each has limits and shares of its own.', {
    min: 1,
  }),
  REFUSED_PASSWORDS_FILE: linesOfFile(
    'A file of passwords that nobody may choose, one a line, read at start; upper and lower case are the same.',
  ),
  DISALLOW_PLUS: flag(false, 'Refuses local registrations whose address contains a plus sign.'),
  SERVICE_GENERIC_OAUTH: flag(false, 'Turns login by generic OIDC on.'),
  SERVICE_OAUTH_AUTH_URL: address(['http', 'https'], 'Authorization address of generic OIDC.'),
  SERVICE_OAUTH_TOKEN_URL: address(['http', 'https'], 'Token address of generic OIDC.'),
  SERVICE_OAUTH_USERINFO_URL: address(['http', 'https'], 'Userinfo address of generic OIDC.'),
  SERVICE_OAUTH_CLIENT_ID: anyText('Client id at generic OIDC.'),
  SERVICE_OAUTH_CLIENT_SECRET: secretText('Client secret at generic OIDC.'),
  SERVICE_OAUTH_SCOPE: anyText('Scope asked of generic OIDC.', { fallback: 'openid profile email' }),
  GITHUB_CLIENT_ID: anyText(
    'Client id of the OAuth app at GitHub, for login by GitHub; settings made by a super-admin take precedence, ' +
      'as for every login.',
  ),
  GITHUB_CLIENT_SECRET: secretText('Client secret of that app.'),
  FACEBOOK_SSO_ENABLED: flag(false, 'Adds a login button when the app credentials of Facebook are set.'),
  X_SSO_ENABLED: flag(false, 'Adds a login button when the app credentials of X are set.'),
  LINKEDIN_SSO_ENABLED: flag(false, 'Adds a login button when the app credentials of LinkedIn are set.'),
};

const actors = {
  ACTOR_ENGINE: oneOf(['embedded', 'dapr'], undefined, 'What runs the actors: this process alone, or Dapr over many.', {
    otherwise: '`dapr` when a sidecar has set `DAPR_HTTP_PORT` and `DAPR_GRPC_PORT`, else `embedded`',
  }),
  DAPR_HTTP_PORT: whole(undefined, 'HTTP port of the sidecar; set by the sidecar.', { min: 1, max: 65_535 }),
  DAPR_GRPC_PORT: whole(undefined, 'gRPC port of the sidecar; set by the sidecar.', { min: 1, max: 65_535 }),
  DAPR_API_TOKEN: secretText('Token that the sidecar asks of its callers. Required when Dapr runs in production.'),
  APP_API_TOKEN: secretText(
    'Token that the sidecar sends to this process; without it calls to the actor port are refused when Dapr runs ' +
      'in production.',
  ),
  APP_PORT: whole(7001, 'Port on 127.0.0.1 where the actor host listens for its sidecar.', { max: 65_535 }),
  DAPR_EVENTS_PUBSUB: anyText(
    'Component of Dapr on which events are published for other Dapr applications, on topics `rookery.<event>`. ' +
      'Unset: nothing is published.',
  ),
  DAPR_PLACEMENT_HEALTH_URL: address(
    ['http', 'https'],
    'Health address of the placement service, for the table of who hosts what.',
    {
      otherwise: 'what the sidecar tells',
    },
  ),
  REMINDER_HORIZON_HOURS: whole(48, 'How far ahead reminders are registered; later ones wait in the database.', {
    min: 1,
    max: 8_760,
  }),
  PROVIDER_CALLS_IN_FLIGHT: whole(
    256,
    'Provider calls under way at a time in one process. One organization alone uses half of them, ' +
      'and leaves the rest to whoever comes.',
    { min: 1, max: 10_000 },
  ),
};

const outbound = {
  OUTBOUND_HTTP_TIMEOUT_MS: whole(30_000, 'Milliseconds for a whole outbound request.', { min: 1 }),
  WEBHOOK_TIMEOUT_MS: whole(10_000, 'Milliseconds for one attempt of a webhook delivery.', { min: 1 }),
  SSRF_ALLOWED_PRIVATE_CIDRS: list(
    'Private ranges that outbound requests may reach, with plain http too.',
    isCidr,
    'ranges such as 10.0.0.0/8',
    {
      otherwise: '`127.0.0.1/32` outside production when listening on loopback, else none',
    },
  ),
  OPERATOR_ALLOWED_PRIVATE_CIDRS: list(
    'Private ranges that providers set for the whole instance (storage, login, mail, …) may reach besides, ' +
      'and no organization.',
    isCidr,
    'ranges such as 10.0.0.0/8',
    { otherwise: 'none' },
  ),
  EGRESS_SIDECARS: list(
    'Proxies at private addresses for routes of the instance (`host:port`) or of one organization ' +
      '(`<organization id>@host:port`), and for nothing else.',
    isSidecar,
    'hosts with a port, such as 127.0.0.1:25344, each after <organization id>@ where it is for one organization',
    { otherwise: 'none' },
  ),
  EGRESS_ECHO_URL: address(
    ['http', 'https'],
    'Tells the address that a call comes from, as text or in JSON as `ip`; ' +
      'asked over each route to see whether it works.',
    {
      otherwise: '`https://api.ipify.org?format=json`',
    },
  ),
};

const media = {
  UPLOAD_FOLDER: anyText(
    'Folder of local uploads. Several machines need one folder that all of them see: see `UPLOAD_FOLDER_SHARED`.',
    {
      otherwise: '`uploads` in `DATA_FOLDER`',
    },
  ),
  UPLOAD_FOLDER_SHARED: flag(
    undefined,
    'With Dapr, in production: true when `UPLOAD_FOLDER` is one folder on all machines; ' +
      'false when it is not, and files are kept only in storages of ' +
      '`/admin/providers/settings` and `/providers/settings`.',
    { otherwise: 'true in one process; with Dapr in production it must be said' },
  ),
  MEDIA_UPLOAD_MAX_BYTES: whole(1_073_741_824, 'Greatest size of one upload in bytes.', {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
  }),
  LOCAL_STORAGE_QUOTA_GB: decimal(5, 'Soft quota of local storage per organization in GB.'),
  RESTRICT_UPLOAD_DOMAINS: list('Media addresses must be on one of these domains or below.', isDomain, 'domain names', {
    otherwise: 'any',
  }),
};

const posts = {
  MISSED_AFTER_MINUTES: whole(
    60,
    'A post that is first seen so late, because the service was down, ' +
      "follows the organization's rule for missed posts.",
    { min: 1 },
  ),
  POST_LATE_SECONDS: whole(60, 'A post published later than this is announced as `post.late`.', { min: 1 }),
  INTEGRATION_RETURN_URL_ALLOWLIST: list(
    'Origins of partners to which a connect flow may return.',
    isOrigin,
    'origins such as https://partner.example',
    {
      otherwise: 'none',
    },
  ),
  STRIP_LINKS_FROM_X_POSTS: flag(false, 'Removes links from posts to X, which charges more for them.'),
  DISABLE_X_ANALYTICS: flag(false, 'Skips analytics of X, which charges for each post that is read.'),
  BLUESKY_PLC_URL: address(
    ['http', 'https'],
    'Directory of the accounts of Bluesky: says which server holds the account that is to be connected.',
    {
      otherwise: '`https://plc.directory`',
    },
  ),
  SANDBOX_ENABLED: flag(undefined, 'Offers the network `sandbox`, which publishes nowhere.', {
    otherwise: 'true outside production',
  }),
  SANDBOX_PORT: whole(0, 'Port of the sandbox network when it runs in this process; 0 takes a free one.', {
    max: 65_535,
  }),
  SANDBOX_URL: address(['http', 'https'], 'Address of a sandbox network in a process of its own.'),
};

const payments = {
  PAYMENTS_PUBLISHABLE_KEY: anyText('Publishable key of the payment processor; without it billing is off.'),
  PAYMENTS_SECRET_KEY: secretText('Secret key of the payment processor.'),
  PAYMENTS_SIGNING_KEY: secretText('Verifies the events of the payment processor.'),
  PAYMENTS_DISCOUNT_ID: anyText('Coupon for existing monthly customers without a discount.'),
  PAYMENTS_SERVICE_NAME: anyText('Own name in the metadata of payment events; events of others are ignored.', {
    fallback: 'service',
  }),
  BILLING_FEEDBACK_EMAIL: anyText('Where answers about billing go.', { otherwise: 'the first super-admin' }),
};

const pack = (what: string, fallback: number, more: { later?: string } = {}) =>
  whole(fallback, `Size of one add-on pack of ${what}.`, { min: 1, ...more });
const price = (what: string, fallback: number, more: { later?: string } = {}) =>
  whole(fallback, `Price of one add-on pack of ${what} in cents a month, for new purchases.`, more);
const addons = {
  ADDON_STORAGE_GB_PER_PACK: pack('storage in GB', 25),
  ADDON_STORAGE_PRICE_CENTS: price('storage', 1900),
  ADDON_VIDEO_EXPORTS_PER_PACK: pack('video exports', 50),
  ADDON_VIDEO_EXPORTS_PRICE_CENTS: price('video exports', 1900),
  ADDON_CHANNELS_PER_PACK: pack('channels', 5),
  ADDON_CHANNELS_PRICE_CENTS: price('channels', 1900),
  ADDON_TEAM_SEATS_PER_PACK: pack('team seats', 5),
  ADDON_TEAM_SEATS_PRICE_CENTS: price('team seats', 1500),
  ADDON_POSTS_PER_PACK: pack('posts per month', 500),
  ADDON_POSTS_PRICE_CENTS: price('posts per month', 900),
  ADDON_BRAND_KITS_PER_PACK: pack('brand kits', 5),
  ADDON_BRAND_KITS_PRICE_CENTS: price('brand kits', 900),
  ADDON_WEBHOOKS_PER_PACK: pack('webhooks', 10),
  ADDON_WEBHOOKS_PRICE_CENTS: price('webhooks', 900),
  ADDON_COMPETITORS_PER_PACK: pack('competitors', 10),
  ADDON_COMPETITORS_PRICE_CENTS: price('competitors', 900),
};

const notifications = {
  EMAIL_PROVIDER: anyText(
    'One of resend, sendgrid, mailgun, postmark, ses, smtp. Unset or unknown: no mail, ' +
      'and users are activated at once. What an administrator sets for it at `/admin/providers/settings` counts ' +
      'before the settings here.',
  ),
  EMAIL_FROM_ADDRESS: anyText('Address that mail comes from. Required with `EMAIL_PROVIDER`.'),
  EMAIL_FROM_NAME: anyText('Name beside that address.', { fallback: 'Rookery' }),
  EMAIL_API_KEY: secretText(
    'What the provider knows us by: API key (resend, sendgrid, mailgun), server token (postmark), ' +
      'secret access key (ses). Required with these.',
  ),
  EMAIL_ACCESS_KEY_ID: anyText('Id of that secret access key. Required with `EMAIL_PROVIDER=ses`.'),
  EMAIL_DOMAIN: anyText('Domain that mailgun sends from. Required with it.'),
  EMAIL_REGION: anyText(
    'Region of the account: eu (sendgrid, mailgun), or one of AWS. Required with `EMAIL_PROVIDER=ses`.',
    {
      otherwise: 'that of accounts outside the European Union',
    },
  ),
  EMAIL_STREAM: anyText(
    'Message stream of postmark, or configuration set of ses, without which it tells of no deliveries.',
    { otherwise: 'postmark: outbound' },
  ),
  EMAIL_SMTP_HOST: anyText('Name or address of the SMTP server. Required with `EMAIL_PROVIDER=smtp`.'),
  EMAIL_SMTP_PORT: whole(587, 'Port of the SMTP server.', { min: 1, max: 65_535 }),
  EMAIL_SMTP_SECURE: oneOf(
    ['starttls', 'tls', 'none'],
    undefined,
    'How the connection is encrypted: upgraded before anything is said, from the first byte, or not at all. ' +
      'The certificate is verified.',
    { otherwise: '`tls` on port 465, else `starttls`' },
  ),
  EMAIL_SMTP_USER: anyText('User name at the SMTP server; none for a relay that asks for no login.'),
  EMAIL_SMTP_PASSWORD: secretText('Password at the SMTP server.'),
  EMAIL_WEBHOOK_SECRET: secretText(
    'Proves delivery events at `POST /webhooks/email`: signing secret `whsec_…` (resend), ' +
      'verification key `MFkw…` (sendgrid), HTTP webhook signing key (mailgun), ' +
      'password or `X-Webhook-Secret` that the webhook was given (postmark), ARN of the topic (ses). Unset: ' +
      'they are refused. smtp tells of none.',
  ),
  FCM_PROJECT_ID: anyText('Project of Firebase for push; nothing is pushed there while one of the three is missing.'),
  FCM_CLIENT_EMAIL: anyText('Service account of Firebase.'),
  FCM_PRIVATE_KEY: secretText('Private key of that service account; its lines may be joined by `\\n`.'),
  VAPID_PUBLIC_KEY: anyText(
    'Public key that browsers subscribe to pushes with; nothing is pushed to them while one of the three is missing. ' +
      '`node rookery.mjs vapid` makes a pair.',
  ),
  VAPID_PRIVATE_KEY: secretText('Private key of that pair.'),
  VAPID_SUBJECT: anyText(
    'Whom push services of browsers ask about it: `mailto:` with an address, or an https address.',
  ),
};

const jobs = {
  USE_INNGEST: flag(false, "Declares the job runner's keys. Jobs run on the actors; no outside runner is called."),
  INNGEST_EVENT_KEY: secretText(
    'Event key of the job runner. Required in production with `USE_INNGEST`, unless `INNGEST_DEV`.',
  ),
  INNGEST_SIGNING_KEY: secretText(
    'Signing key of the job runner. Required in production with `USE_INNGEST`, unless `INNGEST_DEV`.',
  ),
  INNGEST_DEV: flag(false, 'Local dev mode of the job runner: its keys may be missing.'),
};

const ai = {
  AI_PROVIDER_BUDGET_ENFORCE: flag(
    true,
    'Enforces the monthly and daily AI caps per provider; false lets calls through while alerts go on.',
  ),
  AI_DESIGNER_AGENT_TIMEOUT_MS: whole(120_000, 'Milliseconds for one agent step of the designer.', {
    min: 1,
    max: 3_600_000,
  }),
  AI_DESIGNER_ASSET_TIMEOUT_MS: whole(90_000, 'Milliseconds for one asset step of the designer.', {
    min: 1,
    max: 3_600_000,
  }),
  AI_DESIGNER_STUCK_SESSION_MINUTES: whole(15, 'A designer session untouched for so long is rolled back.', {
    min: 1,
    max: 1_440,
  }),
  CONTENT_PIPELINE_TOTAL_TIMEOUT_MS: whole(300_000, 'Milliseconds for a whole content pipeline.', {
    min: 1,
  }),
  CONTENT_PIPELINE_AGENT_TIMEOUT_MS: whole(120_000, 'Milliseconds for one agent of a content pipeline.', {
    min: 1,
  }),
};

const collaboration = {
  COLLAB_SINGLE_INSTANCE: flag(
    true,
    'Documents are kept in the memory of one process, and a second one is told of. Must be true unless `COLLAB_REDIS_ADAPTER` is set.',
  ),
  COLLAB_REDIS_ADAPTER: secretText(
    'Replicas exchange what is typed over Redis when set: `true` uses `REDIS_URL`, else it is an address.',
  ),
};

const analytics = {
  ANALYTICS_ANOMALY_Z: decimal(3, 'Deviation in z-scores from which a value is an anomaly.'),
  ANALYTICS_ANOMALY_COOLDOWN_DAYS: whole(3, 'Days without a second anomaly of the same channel and metric.'),
  COMMENTS_SWEEP_INTERVAL_MINUTES: whole(30, 'Minutes between two looks for new comments.', {
    min: 1,
  }),
  POST_DAYS_BACK: whole(30, 'Days for which metrics of a post are collected.', { min: 1, max: 3_650 }),
  X_ANALYTICS_MAX_PAGE_DEPTH: whole(
    10,
    'Pages of a hundred posts that are read at most for analytics of a channel of X in one night.',
    { min: 1 },
  ),
};

const days = (fallback: number, what: string) => whole(fallback, `Days that ${what}.`, { min: 1, max: 36_500 });
const retention = {
  ANALYTICS_DAILY_RETENTION_DAYS: days(548, 'daily channel snapshots are kept before they are rolled up to weeks'),
  ANALYTICS_POST_RETENTION_DAYS: days(90, 'snapshots of posts are kept'),
  EMAIL_LOG_RETENTION_DAYS: days(90, 'the mail log is kept'),
  ERRORS_RETENTION_DAYS: days(90, 'error rows are kept'),
  NOTIFICATIONS_RETENTION_DAYS: days(180, 'notifications are kept'),
  MEDIA_JOBS_RETENTION_DAYS: days(90, 'media jobs are kept after their end, with their prompts'),
  MULTIPART_UPLOAD_RETENTION_DAYS: days(7, 'abandoned multipart uploads are kept'),
  SOFT_DELETE_RETENTION_DAYS: days(30, 'deleted posts and files are kept'),
  IP_RETENTION_DAYS: days(90, 'address and agent of users, of sessions and of acts in the audit log are kept'),
  SOCIAL_COMMENT_RETENTION_DAYS: days(90, 'comments of the networks are kept'),
  CAMPAIGN_PURGE_DAYS: days(30, 'a campaign is kept after its end'),
  AI_DESIGNER_SESSION_RETENTION_DAYS: days(
    90,
    'chat sessions of the designer and other runs of AI are kept after they were touched last',
  ),
  MASTRA_TRACE_RETENTION_DAYS: days(30, 'traces of agents are kept'),
  AUDIT_RETENTION_DAYS: days(365, 'the audit log is kept'),
};

const telemetry = {
  LOG_LEVEL: oneOf(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    'info',
    'The least important lines that are logged.',
  ),
  LOG_FORMAT: oneOf(['json', 'plain'], undefined, 'One JSON object a line, or lines for people.', {
    otherwise: '`plain` on a terminal and under `npm start`, else `json`',
  }),
  METRICS_TOKEN: secretText(
    'Opens `/metrics` for a bearer; without it nobody may in production, and elsewhere callers on this machine, ' +
      'not through a proxy.',
  ),
  METRICS_PORT: whole(undefined, 'Port that answers `/metrics` alone, for a process without the API.', {
    min: 1,
    max: 65_535,
    otherwise: 'none',
  }),
  METRICS_LISTEN_HOST: anyText('Address on which METRICS_PORT listens; any but loopback needs METRICS_TOKEN.', {
    fallback: '127.0.0.1',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: address(
    ['http', 'https'],
    'Turns tracing on: the base address of an OTLP/HTTP collector, which is sent `/v1/traces`.',
  ),
  OTEL_SERVICE_NAME: anyText('Name of this service in traces.', { fallback: 'service-backend' }),
};

const stockKey = (source: string, what = 'API key') => secretText(`${what} of ${source} for stock media.`);
const stock = {
  UNSPLASH_ACCESS_KEY: stockKey('Unsplash'),
  PEXELS_API_KEY: stockKey('Pexels'),
  PIXABAY_API_KEY: stockKey('Pixabay'),
  GIPHY_API_KEY: stockKey('Giphy'),
  OPENVERSE_CLIENT_ID: anyText('Client id at Openverse, which answers without one too.'),
  OPENVERSE_CLIENT_SECRET: stockKey('Openverse', 'Client secret'),
};

/** The chapters of the reference. */
export const CHAPTERS = {
  Service: service,
  'Database and cache': storage,
  Secrets: secrets,
  'Registration and login': login,
  'Actors and Dapr': actors,
  'Outbound requests': outbound,
  'Media and uploads': media,
  'Channels and posts': posts,
  Payments: payments,
  'Add-on packs': addons,
  'Mail and push': notifications,
  'Job runner': jobs,
  AI: ai,
  Collaboration: collaboration,
  Analytics: analytics,
  Retention: retention,
  Telemetry: telemetry,
  'App credentials of networks': appSettings,
  'Stock media': stock,
};

export const SETTINGS = {
  ...service,
  ...storage,
  ...secrets,
  ...login,
  ...actors,
  ...outbound,
  ...media,
  ...posts,
  ...payments,
  ...addons,
  ...notifications,
  ...jobs,
  ...ai,
  ...collaboration,
  ...analytics,
  ...retention,
  ...telemetry,
  ...appSettings,
  ...stock,
};
export type SettingName = keyof typeof SETTINGS;
