import { createPrivateKey } from 'node:crypto';
import { checkEmail } from './email.ts';
import { isGuessable } from './guessable.ts';
import { given, type ConfigIssue, type Env, type Environment } from './env.ts';
import type { SettingName } from './settings.ts';
import { checkVapid } from './vapid.ts';

interface Deployment {
  production: boolean;
  strict: boolean;
  engine: 'embedded' | 'dapr';
}
interface Settings extends Deployment {
  env: Env;
  isSet(name: SettingName): boolean;
}
/** The rules of one subject, each with the issue where the settings break it. */
type Checks = (settings: Settings) => readonly (ConfigIssue | false | '' | undefined)[];

const JWT_SECRET_MIN = 32;
const GUESSABLE = 'can be guessed: it repeats characters, or is a placeholder';

const issueOf =
  (level: ConfigIssue['level']) =>
  (setting: string, message: string, remedy: string, always?: boolean): ConfigIssue => ({
    setting,
    level,
    message,
    remedy,
    ...(always && { always }),
  });
const fatal = issueOf('fatal');
const warn = issueOf('warning');

/** This machine alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
const isLocal = (address: string): boolean =>
  isLoopback((URL.parse(address)?.hostname ?? '').replace(/^\[(.*)\]$/, '$1'));

const required: Checks = ({ env, production, strict, isSet }) => {
  if (!production && !strict)
    return [
      env.IS_GENERAL === false &&
        warn('IS_GENERAL', 'is not true', 'Set it to true: that is the standard for self-hosting.'),
    ];
  const must = (name: SettingName, remedy: string, always?: boolean) =>
    !isSet(name) && fatal(name, 'is missing', remedy, always);
  const cannot = production; // elsewhere the embedded ones stand in
  return [
    must(
      'DATABASE_URL',
      'Set it to the address of your Postgres: postgres://user:password@host:5432/database.',
      cannot,
    ),
    must('REDIS_URL', 'Set it to the address of your Redis: redis://host:6379.', cannot),
    must('JWT_SECRET', `Set it to at least ${JWT_SECRET_MIN} random characters, for example by: openssl rand -hex 32`),
    must(
      'NEXT_PUBLIC_BACKEND_URL',
      'Set it to the public address of this service, for example https://app.example.com/api.',
    ),
    must(
      'BACKEND_INTERNAL_URL',
      'Set it to the address of this service inside the deployment, for example http://127.0.0.1:3000.',
    ),
    !isSet('FRONTEND_URL') &&
      !isSet('MAIN_URL') &&
      fatal(
        'FRONTEND_URL',
        'is missing, and so is MAIN_URL',
        'Set one of them to the public address of the application, for example https://app.example.com.',
      ),
    env.IS_GENERAL !== true &&
      warn('IS_GENERAL', 'is not true', 'Set it to true: that is the standard for self-hosting.'),
    ...(['INNGEST_EVENT_KEY', 'INNGEST_SIGNING_KEY'] as const).map(
      (name) =>
        env.USE_INNGEST &&
        !env.INNGEST_DEV &&
        must(name, 'Set it, or set INNGEST_DEV=true for the local dev mode, or remove USE_INNGEST.'),
    ),
  ];
};

const secrets: Checks = ({ env, production, strict }) => [
  env.JWT_SECRET &&
    env.JWT_SECRET.length < JWT_SECRET_MIN &&
    (production || strict ? fatal : warn)(
      'JWT_SECRET',
      `has ${env.JWT_SECRET.length} characters`,
      `Set it to at least ${JWT_SECRET_MIN} random characters, for example by: openssl rand -hex 32`,
    ),
  production &&
    env.JWT_SECRET &&
    env.JWT_SECRET.length >= JWT_SECRET_MIN &&
    isGuessable(env.JWT_SECRET) &&
    fatal('JWT_SECRET', GUESSABLE, 'Set it to random characters, for example by: openssl rand -hex 32'),
  production &&
    env.ENCRYPTION_KEY === undefined &&
    warn(
      'ENCRYPTION_KEY',
      'is missing: stored credentials are sealed by a key made of JWT_SECRET, and a new JWT_SECRET would lose them',
      'Set it, for example by: openssl rand -hex 32, set ENCRYPTION_KEY_PREVIOUS to JWT_SECRET, ' +
        'and run: node rookery.mjs reencrypt',
    ),
  production &&
    env.ENCRYPTION_KEY !== undefined &&
    isGuessable(env.ENCRYPTION_KEY) &&
    fatal(
      'ENCRYPTION_KEY',
      GUESSABLE,
      'Make a new one, for example by: openssl rand -hex 32. ' +
        'The old one goes into ENCRYPTION_KEY_PREVIOUS; then run: node rookery.mjs reencrypt',
    ),
  production &&
    env.WEBHOOK_SIGNING_SECRET !== undefined &&
    env.WEBHOOK_SIGNING_SECRET === env.JWT_SECRET &&
    fatal(
      'WEBHOOK_SIGNING_SECRET',
      'is the same as JWT_SECRET: a receiver who is told it could make sessions',
      'Set it to another random value, or remove it: deliveries are then signed by a key of their own.',
    ),
  production &&
    env.WEBHOOK_SIGNING_SECRET !== undefined &&
    env.WEBHOOK_SIGNING_SECRET !== env.JWT_SECRET &&
    isGuessable(env.WEBHOOK_SIGNING_SECRET) &&
    fatal('WEBHOOK_SIGNING_SECRET', GUESSABLE, 'Set it to random characters, for example by: openssl rand -hex 32'),
  env.ENCRYPTION_KEY_PREVIOUS !== undefined &&
    env.ENCRYPTION_KEY_PREVIOUS === env.ENCRYPTION_KEY &&
    warn('ENCRYPTION_KEY_PREVIOUS', 'is the same as ENCRYPTION_KEY', 'Set it to the key of before, or remove it.'),
];

const addresses: Checks = ({ env, production }) => {
  const unmarked =
    env.PREFIXED_COOKIES &&
    env.NOT_SECURED &&
    warn('PREFIXED_COOKIES', 'has no effect with NOT_SECURED: prefixes need https', 'Remove one of them.');
  if (!production) return [unmarked];
  if (!env.NOT_SECURED)
    return (['FRONTEND_URL', 'MAIN_URL', 'NEXT_PUBLIC_BACKEND_URL'] as const).map(
      (name) =>
        env[name]?.startsWith('http:') &&
        !isLocal(env[name]) &&
        warn(
          name,
          'is an address without https: browsers keep no session cookie there',
          'Put https in front of the service and set the https address.',
        ),
    );
  return [
    unmarked,
    // Whoever can be reached from elsewhere never runs without these checks.
    ...(['FRONTEND_URL', 'MAIN_URL', 'ADMIN_URL', 'NEXT_PUBLIC_BACKEND_URL'] as const).map(
      (name) =>
        env[name] !== undefined &&
        !isLocal(env[name]) &&
        fatal(
          'NOT_SECURED',
          `is set in production, and ${name} is not an address of this machine`,
          'Remove it, and put https in front of the service.',
          true,
        ),
    ),
    env.BACKEND_LISTEN_HOST !== undefined &&
      !isLoopback(env.BACKEND_LISTEN_HOST) &&
      fatal(
        'NOT_SECURED',
        'is set in production, and BACKEND_LISTEN_HOST is not this machine alone',
        'Remove one of them.',
        true,
      ),
    warn(
      'NOT_SECURED',
      'is set in production: cookies travel over plain http, and requests are not checked against forgery',
      'Remove it as soon as https is in front of the service.',
    ),
  ];
};

const actorEngine: Checks = ({ env, engine, production, isSet }) => {
  const sidecarPorts = [env.DAPR_HTTP_PORT, env.DAPR_GRPC_PORT].filter((port) => port !== undefined).length;
  if (engine === 'embedded')
    return [
      sidecarPorts === 1 &&
        warn(
          'DAPR_HTTP_PORT',
          'and DAPR_GRPC_PORT must be set together: with one alone the embedded engine runs',
          'Set both, or none.',
        ),
      isSet('DAPR_EVENTS_PUBSUB') &&
        fatal(
          'DAPR_EVENTS_PUBSUB',
          'names a component of Dapr, and this process runs without Dapr: nobody would hear of an event',
          'Start it beside a sidecar (DAPR_HTTP_PORT, DAPR_GRPC_PORT), or remove it.',
          true,
        ),
    ];
  return [
    sidecarPorts < 2 &&
      fatal(
        'ACTOR_ENGINE',
        'chooses Dapr, but there is no sidecar: DAPR_HTTP_PORT and DAPR_GRPC_PORT are not both set',
        'Start the process beside daprd (npm run cluster does it on one machine), or remove ACTOR_ENGINE.',
        true,
      ),
    production &&
      !isSet('APP_API_TOKEN') &&
      fatal(
        'APP_API_TOKEN',
        'is missing: anyone who reaches the actor port could call any actor',
        'Set it to a random value, here and for the sidecar, for example by: openssl rand -hex 32',
      ),
    production &&
      !isSet('DAPR_API_TOKEN') &&
      fatal(
        'DAPR_API_TOKEN',
        'is missing: anyone who reaches the sidecar could call any actor through it',
        'Set it to a random value, here and for the sidecar, for example by: openssl rand -hex 32',
      ),
    !isSet('DATABASE_URL') &&
      fatal(
        'DATABASE_URL',
        'is missing, and Dapr runs several processes on one database',
        'Set it to the address of a Postgres that all of them reach.',
        true,
      ),
    !production &&
      !isSet('REDIS_URL') &&
      warn(
        'REDIS_URL',
        'is missing: each process counts rate limits for itself, and live pages see the events of their own process only',
        'Set it to the address of a Redis.',
      ),
    production &&
      env.UPLOAD_FOLDER_SHARED === undefined &&
      fatal(
        'UPLOAD_FOLDER_SHARED',
        'is missing: each machine would keep uploads in a folder of its own, ' +
          'and posts would be published without finding their pictures',
        'Mount one folder on all machines, name it in UPLOAD_FOLDER and set this to true. ' +
          'Or set it to false and keep files in a storage of /admin/providers/settings.',
      ),
  ];
};

const payments: Checks = ({ isSet }) => [
  ...(['PAYMENTS_SECRET_KEY', 'PAYMENTS_SIGNING_KEY'] as const).map(
    (name) =>
      isSet('PAYMENTS_PUBLISHABLE_KEY') &&
      !isSet(name) &&
      fatal(
        name,
        'is missing although PAYMENTS_PUBLISHABLE_KEY turns billing on: ' +
          'nobody could pay, and no payment would be heard of',
        'Set it to the one of the same account at the payment processor, or remove PAYMENTS_PUBLISHABLE_KEY; ' +
          'without it every organization has all features.',
      ),
  ),
  ...(['PAYMENTS_SECRET_KEY', 'PAYMENTS_SIGNING_KEY', 'PAYMENTS_DISCOUNT_ID'] as const).map(
    (name) =>
      isSet(name) &&
      !isSet('PAYMENTS_PUBLISHABLE_KEY') &&
      warn(
        name,
        'is set without PAYMENTS_PUBLISHABLE_KEY: billing is off',
        'Remove it, or see the reference of settings about billing.',
      ),
  ),
];

const FCM = ['FCM_PROJECT_ID', 'FCM_CLIENT_EMAIL', 'FCM_PRIVATE_KEY'] as const;
const push: Checks = ({ env, isSet }) => [
  ...FCM.map(
    (name) =>
      !isSet(name) &&
      FCM.some(isSet) &&
      warn(
        name,
        'is missing, and nothing is pushed without it',
        `Set all of ${FCM.join(', ')}, from the key file of a service account of Firebase, or none.`,
      ),
  ),
  env.FCM_PRIVATE_KEY !== undefined &&
    !isRsaKey(env.FCM_PRIVATE_KEY.replaceAll('\\n', '\n')) &&
    warn(
      'FCM_PRIVATE_KEY',
      'is no private RSA key in the form PEM: no push can be sent',
      'Set it to `private_key` of the key file.',
    ),
  ...checkVapid(env, isSet),
];
function isRsaKey(text: string): boolean {
  try {
    return createPrivateKey(text).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

const operation: Checks = ({ env, isSet }) => [
  !env.COLLAB_SINGLE_INSTANCE &&
    !isSet('COLLAB_REDIS_ADAPTER') &&
    warn(
      'COLLAB_SINGLE_INSTANCE',
      'is false without COLLAB_REDIS_ADAPTER: people on different replicas would not see each other',
      'Set it to true, or set COLLAB_REDIS_ADAPTER.',
    ),
  env.COLLAB_REDIS_ADAPTER === 'true' &&
    !isSet('REDIS_URL') &&
    fatal(
      'COLLAB_REDIS_ADAPTER',
      'is true without REDIS_URL: there is no Redis to exchange over',
      'Set REDIS_URL, or set COLLAB_REDIS_ADAPTER to the address of a Redis.',
      true,
    ),
  isSet('COLLAB_REDIS_ADAPTER') &&
    env.COLLAB_REDIS_ADAPTER !== 'true' &&
    !/^rediss?:$/.test(URL.parse(env.COLLAB_REDIS_ADAPTER ?? '')?.protocol ?? '') &&
    fatal(
      'COLLAB_REDIS_ADAPTER',
      'is neither `true` nor the address of a Redis',
      'Set it to true to use REDIS_URL, or to an address such as redis://host:6379.',
      true,
    ),
  !isLoopback(env.METRICS_LISTEN_HOST) &&
    !isSet('METRICS_TOKEN') &&
    fatal(
      'METRICS_LISTEN_HOST',
      'is an address that others reach, and METRICS_TOKEN is missing: anyone could read the numbers of this process',
      'Set METRICS_TOKEN, for example by: openssl rand -hex 32. Or remove METRICS_LISTEN_HOST.',
      true,
    ),
  env.WEBHOOK_TIMEOUT_MS > env.OUTBOUND_HTTP_TIMEOUT_MS &&
    warn(
      'WEBHOOK_TIMEOUT_MS',
      'is longer than OUTBOUND_HTTP_TIMEOUT_MS',
      'A delivery waits for its own, longer time; make one of them fit the other if that is not meant.',
    ),
];

const login: Checks = ({ env, isSet }) => [
  ...(
    [
      'SERVICE_OAUTH_AUTH_URL',
      'SERVICE_OAUTH_TOKEN_URL',
      'SERVICE_OAUTH_USERINFO_URL',
      'SERVICE_OAUTH_CLIENT_ID',
      'SERVICE_OAUTH_CLIENT_SECRET',
    ] as const
  ).map(
    (name) =>
      env.SERVICE_GENERIC_OAUTH &&
      !isSet(name) &&
      warn(
        name,
        'is missing although SERVICE_GENERIC_OAUTH is on: that login is not offered',
        'Set it, or turn SERVICE_GENERIC_OAUTH off.',
      ),
  ),
  ...(
    [
      ['FACEBOOK_SSO_ENABLED', 'FACEBOOK_APP_ID'],
      ['X_SSO_ENABLED', 'X_CLIENT_ID'],
      ['LINKEDIN_SSO_ENABLED', 'LINKEDIN_CLIENT_ID'],
    ] as const
  ).map(
    ([name, id]) =>
      env[name] &&
      !isSet(id) &&
      warn(
        name,
        `is on although ${id} is not set: that login is not offered`,
        `Set the app credentials of the network, or turn ${name} off.`,
      ),
  ),
];

/** Checks of several settings together: what a deployment must have, and what contradicts itself. */
export function checkTogether(env: Env, source: Environment, deployment: Deployment): ConfigIssue[] {
  const settings: Settings = { ...deployment, env, isSet: (name) => given(source, name) !== undefined };
  const issuesOf = (checks: Checks) => checks(settings).flatMap((issue) => issue || []);
  return [
    ...[required, secrets, addresses, actorEngine, payments].flatMap(issuesOf),
    ...checkEmail(env),
    ...[push, operation, login].flatMap(issuesOf),
  ];
}
