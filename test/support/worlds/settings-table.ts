import { expect, test } from '@jest/globals';
import type { SettingName } from '../../../src/platform/config/settings.ts';

/** The settings that each `test/integration/settings-effect.<name>.test.ts` shows. */
export const SHOWN_IN = {
  service: [
    'NODE_ENV',
    'NOT_SECURED',
    'CONFIG_CHECK_STRICT',
    'IS_GENERAL',
    'USE_INNGEST',
    'INNGEST_EVENT_KEY',
    'INNGEST_SIGNING_KEY',
    'INNGEST_DEV',
    'FRONTEND_URL',
    'MAIN_URL',
    'ADMIN_URL',
    'NEXT_PUBLIC_BACKEND_URL',
    'NEXT_PUBLIC_OVERRIDE_BACKEND_URL',
    'BACKEND_INTERNAL_URL',
    'DATABASE_URL',
    'BACKEND_LISTEN_HOST',
    'PORT',
    'TRUST_PROXY_HOPS',
    'API_LIMIT',
    'RATE_LIMIT_SCALE',
    'APPS_CHALLENGE',
    'MOBILE_APP_SCHEME',
    'DATA_FOLDER',
    'UPLOAD_FOLDER',
    'UPLOAD_FOLDER_SHARED',
    'MEDIA_UPLOAD_MAX_BYTES',
    'LOCAL_STORAGE_QUOTA_GB',
    'JWT_SECRET',
    'ENCRYPTION_KEY',
    'ENCRYPTION_KEY_PREVIOUS',
    'WEBHOOK_SIGNING_SECRET',
    'METRICS_TOKEN',
  ],
  process: [
    'SANDBOX_PORT',
    'LOG_LEVEL',
    'LOG_FORMAT',
    'SANDBOX_URL',
    'SANDBOX_ENABLED',
    'DATABASE_CONNECTION_LIMIT',
    'DATABASE_POOL_TIMEOUT',
    'REDIS_URL',
  ],
  login: [
    'DISABLE_REGISTRATION',
    'ORGANIZATIONS_PER_OWNER',
    'DISALLOW_PLUS',
    'SERVICE_GENERIC_OAUTH',
    'SERVICE_OAUTH_AUTH_URL',
    'SERVICE_OAUTH_TOKEN_URL',
    'SERVICE_OAUTH_USERINFO_URL',
    'SERVICE_OAUTH_CLIENT_ID',
    'SERVICE_OAUTH_CLIENT_SECRET',
    'SERVICE_OAUTH_SCOPE',
    'GITHUB_CLIENT_ID',
    'GITHUB_CLIENT_SECRET',
    'YOUTUBE_CLIENT_ID',
    'YOUTUBE_CLIENT_SECRET',
    'FACEBOOK_APP_ID',
    'FACEBOOK_APP_SECRET',
    'FACEBOOK_SSO_ENABLED',
    'X_CLIENT_ID',
    'X_CLIENT_SECRET',
    'X_SSO_ENABLED',
    'LINKEDIN_CLIENT_ID',
    'LINKEDIN_CLIENT_SECRET',
    'LINKEDIN_SSO_ENABLED',
  ],
  outbound: [
    'WEBHOOK_TIMEOUT_MS',
    'OUTBOUND_HTTP_TIMEOUT_MS',
    'SSRF_ALLOWED_PRIVATE_CIDRS',
    'OPERATOR_ALLOWED_PRIVATE_CIDRS',
    'EGRESS_SIDECARS',
    'EGRESS_ECHO_URL',
  ],
  publishing: [
    'MASTODON_URL',
    'MASTODON_CLIENT_ID',
    'MASTODON_CLIENT_SECRET',
    'BLUESKY_PLC_URL',
    'INTEGRATION_RETURN_URL_ALLOWLIST',
    'RESTRICT_UPLOAD_DOMAINS',
    'REMINDER_HORIZON_HOURS',
    'PROVIDER_CALLS_IN_FLIGHT',
    'POST_LATE_SECONDS',
    'OPENVERSE_CLIENT_ID',
    'OPENVERSE_CLIENT_SECRET',
    'UNSPLASH_ACCESS_KEY',
    'PEXELS_API_KEY',
    'PIXABAY_API_KEY',
    'GIPHY_API_KEY',
  ],
  mail: [
    'EMAIL_PROVIDER',
    'EMAIL_FROM_ADDRESS',
    'EMAIL_FROM_NAME',
    'EMAIL_API_KEY',
    'EMAIL_ACCESS_KEY_ID',
    'EMAIL_DOMAIN',
    'EMAIL_REGION',
    'EMAIL_STREAM',
    'EMAIL_WEBHOOK_SECRET',
    'EMAIL_SMTP_HOST',
    'EMAIL_SMTP_PORT',
    'EMAIL_SMTP_SECURE',
    'EMAIL_SMTP_USER',
    'EMAIL_SMTP_PASSWORD',
  ],
  payments: [
    'PAYMENTS_PUBLISHABLE_KEY',
    'PAYMENTS_SECRET_KEY',
    'PAYMENTS_SIGNING_KEY',
    'PAYMENTS_DISCOUNT_ID',
    'PAYMENTS_SERVICE_NAME',
    'BILLING_FEEDBACK_EMAIL',
    'ADDON_STORAGE_GB_PER_PACK',
    'ADDON_STORAGE_PRICE_CENTS',
    'ADDON_CHANNELS_PER_PACK',
    'ADDON_CHANNELS_PRICE_CENTS',
    'ADDON_TEAM_SEATS_PER_PACK',
    'ADDON_TEAM_SEATS_PRICE_CENTS',
    'ADDON_POSTS_PER_PACK',
    'ADDON_POSTS_PRICE_CENTS',
    'ADDON_WEBHOOKS_PER_PACK',
    'ADDON_WEBHOOKS_PRICE_CENTS',
  ],
  retention: [
    'EMAIL_LOG_RETENTION_DAYS',
    'ERRORS_RETENTION_DAYS',
    'AUDIT_RETENTION_DAYS',
    'IP_RETENTION_DAYS',
    'SOFT_DELETE_RETENTION_DAYS',
    'MULTIPART_UPLOAD_RETENTION_DAYS',
  ],
} as const satisfies Record<string, readonly SettingName[]>;

/**
 * Begins the table of one file: each row is a test of some of its settings, and in the end all of them must have had
 * one.
 */
export function effectsOf<const Name extends keyof typeof SHOWN_IN>(name: Name) {
  const shown = new Set<string>();
  test(`every setting of ${name} has a row`, () => expect([...shown].toSorted()).toEqual(SHOWN_IN[name].toSorted()));
  /** One row of the table: what these settings do. */
  return function effect(
    names: readonly (typeof SHOWN_IN)[Name][number][],
    title: string,
    see: () => Promise<void>,
  ): void {
    for (const one of names) shown.add(one);
    test(`${names.join(', ')}: ${title}`, see);
  };
}

const OPERATED = [
  'test/integration/platform/dapr.operate.test.ts',
  'the API reports the host, its actors, the waiting rows and the Dapr runtime; the host serves its own metrics',
] as const;
/** Settings whose effect needs what another test has: its file and title. */
export const ELSEWHERE: Partial<Record<SettingName, readonly [file: string, title: string]>> = {
  ACTOR_ENGINE: OPERATED,
  DAPR_HTTP_PORT: OPERATED,
  DAPR_GRPC_PORT: OPERATED,
  DAPR_API_TOKEN: OPERATED,
  APP_API_TOKEN: OPERATED,
  APP_PORT: OPERATED,
  DAPR_PLACEMENT_HEALTH_URL: OPERATED,
  METRICS_PORT: OPERATED,
  METRICS_LISTEN_HOST: [
    'src/platform/config/settings.test.ts',
    'METRICS_LISTEN_HOST is the address of the metrics, and a reachable one requires METRICS_TOKEN',
  ],
  SHUTDOWN_DELAY_SECONDS: [
    'test/e2e/drain.test.ts',
    'the process is not ready during SHUTDOWN_DELAY_SECONDS, serves on, and tells each connection to close',
  ],
  ALLOW_DESTRUCTIVE_SCHEMA: [
    'test/integration/platform/db.migrate.test.ts',
    'a migration that drops data needs ALLOW_DESTRUCTIVE_SCHEMA [DE36]',
  ],
};
