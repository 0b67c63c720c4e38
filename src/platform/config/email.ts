import type { ConfigIssue, Env } from './env.ts';

type Setting =
  | 'EMAIL_API_KEY'
  | 'EMAIL_ACCESS_KEY_ID'
  | 'EMAIL_DOMAIN'
  | 'EMAIL_REGION'
  | 'EMAIL_STREAM'
  | 'EMAIL_WEBHOOK_SECRET'
  | 'EMAIL_SMTP_HOST';
type EmailEnv = Pick<
  Env,
  | Setting
  | 'EMAIL_PROVIDER'
  | 'EMAIL_FROM_ADDRESS'
  | 'EMAIL_FROM_NAME'
  | 'EMAIL_SMTP_PORT'
  | 'EMAIL_SMTP_SECURE'
  | 'EMAIL_SMTP_USER'
  | 'EMAIL_SMTP_PASSWORD'
>;
interface Declared {
  /** Which setting fills which field of its adapter. */
  fields: Readonly<Record<string, Setting>>;
  needed: readonly Setting[];
  /** The form that a setting must have here, and the words for it. */
  forms?: Partial<Record<Setting, readonly [RegExp, string]>>;
  /** Fields that no setting fills as it is. */
  values?(env: EmailEnv): Record<string, string>;
  /** Issues beyond missing settings and forms. */
  check?(env: EmailEnv): ConfigIssue[];
}

const PROVIDERS: Readonly<Record<string, Declared>> = {
  resend: {
    fields: { apiKey: 'EMAIL_API_KEY', webhookSecret: 'EMAIL_WEBHOOK_SECRET' },
    needed: ['EMAIL_API_KEY'],
    forms: {
      EMAIL_WEBHOOK_SECRET: [
        /^whsec_[A-Za-z0-9+/]{16,}={0,2}$/,
        'the signing secret of the webhook, which starts with whsec_',
      ],
    },
  },
  sendgrid: {
    fields: { apiKey: 'EMAIL_API_KEY', region: 'EMAIL_REGION', webhookPublicKey: 'EMAIL_WEBHOOK_SECRET' },
    needed: ['EMAIL_API_KEY'],
    forms: {
      EMAIL_REGION: [/^(global|eu)$/, 'global or eu'],
      EMAIL_WEBHOOK_SECRET: [
        /^MFkw[A-Za-z0-9+/]{118,122}={0,2}$/,
        'the verification key of the event webhook, base64 that begins with MFkw',
      ],
    },
  },
  mailgun: {
    fields: {
      apiKey: 'EMAIL_API_KEY',
      domain: 'EMAIL_DOMAIN',
      region: 'EMAIL_REGION',
      webhookSigningKey: 'EMAIL_WEBHOOK_SECRET',
    },
    needed: ['EMAIL_API_KEY', 'EMAIL_DOMAIN'],
    forms: {
      EMAIL_REGION: [/^(us|eu)$/, 'us or eu'],
      EMAIL_DOMAIN: [/^[A-Za-z0-9.-]{1,253}$/, 'the domain that you send from, like mg.example.com'],
    },
  },
  postmark: {
    fields: { serverToken: 'EMAIL_API_KEY', messageStream: 'EMAIL_STREAM', webhookSecret: 'EMAIL_WEBHOOK_SECRET' },
    needed: ['EMAIL_API_KEY'],
    forms: {
      EMAIL_STREAM: [/^[A-Za-z0-9_-]{1,100}$/, 'the id of a message stream, like outbound'],
      EMAIL_WEBHOOK_SECRET: [/^.{16,}$/, 'at least 16 characters: nothing else protects these events'],
    },
  },
  ses: {
    fields: {
      accessKeyId: 'EMAIL_ACCESS_KEY_ID',
      secretAccessKey: 'EMAIL_API_KEY',
      region: 'EMAIL_REGION',
      configurationSet: 'EMAIL_STREAM',
      snsTopicArn: 'EMAIL_WEBHOOK_SECRET',
    },
    needed: ['EMAIL_ACCESS_KEY_ID', 'EMAIL_API_KEY', 'EMAIL_REGION'],
    forms: {
      EMAIL_ACCESS_KEY_ID: [/^[A-Za-z0-9]{4,128}$/, 'the id of an access key, which goes with EMAIL_API_KEY'],
      EMAIL_REGION: [/^[a-z0-9-]{3,40}$/, 'a region of AWS, like eu-west-1'],
      EMAIL_WEBHOOK_SECRET: [
        /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]+$/,
        'the ARN of the topic that delivery events come by',
      ],
    },
  },
  smtp: { fields: { host: 'EMAIL_SMTP_HOST' }, needed: ['EMAIL_SMTP_HOST'], values: smtpValues, check: checkSmtp },
};

/** Nothing but an address: no name, no brackets, nothing that a mail header could be made of. */
const isAddress = (text: string) => /^[^\s<>"(),:;@[\]\\]+@[^\s<>"(),:;@[\]\\]+$/.test(text);
const isLocal = (host: string) => host === 'localhost' || host === '::1' || host.startsWith('127.');
const nameOf = ({ EMAIL_PROVIDER: name }: EmailEnv) => name?.toLowerCase();
const declaredOf = (env: EmailEnv): Declared | undefined =>
  Object.hasOwn(PROVIDERS, nameOf(env) ?? '') ? PROVIDERS[nameOf(env)!] : undefined;
const secureOf = ({ EMAIL_SMTP_SECURE: secure, EMAIL_SMTP_PORT: port }: EmailEnv) =>
  secure ?? (port === 465 ? 'tls' : 'starttls');
function smtpValues(env: EmailEnv): Record<string, string> {
  return {
    port: String(env.EMAIL_SMTP_PORT),
    secure: secureOf(env),
    username: env.EMAIL_SMTP_USER ?? '',
    password: env.EMAIL_SMTP_PASSWORD ?? '',
  };
}

/**
 * The provider that mail leaves by, with the fields of its adapter; undefined while none is chosen, or the choice is
 * not complete.
 */
export function emailProvider(env: EmailEnv): { id: string; values: Record<string, string> } | undefined {
  const declared = declaredOf(env);
  const fromAddress = env.EMAIL_FROM_ADDRESS;
  if (!declared || fromAddress === undefined || checkEmail(env).some(({ level }) => level === 'fatal'))
    return undefined;
  const id = nameOf(env)!;
  const given = Object.entries(declared.fields).flatMap(([field, setting]) =>
    env[setting] === undefined ? [] : [[field, env[setting]] as const],
  );
  return {
    id,
    values: { ...Object.fromEntries(given), ...declared.values?.(env), fromAddress, fromName: env.EMAIL_FROM_NAME },
  };
}

/** Finds faults of the settings of mail. */
export function checkEmail(env: EmailEnv): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const say = (level: ConfigIssue['level']) => (setting: string, message: string, remedy: string) =>
    void issues.push({ setting, level, message, remedy });
  const [fatal, warn] = [say('fatal'), say('warning')];
  const name = nameOf(env);
  const declared = declaredOf(env);
  if (name === undefined) return issues;
  if (!declared) {
    const known = Object.keys(PROVIDERS).join(', ');
    warn(
      'EMAIL_PROVIDER',
      `names no provider of mail (${known}): mail is off, and users are activated at once`,
      'Correct or remove it.',
    );
    return issues;
  }
  for (const setting of declared.needed)
    if (env[setting] === undefined)
      fatal(
        setting,
        `is missing although EMAIL_PROVIDER is ${name}`,
        'Set it, or remove EMAIL_PROVIDER; users are then activated at once.',
      );
  for (const [setting, [form, wanted]] of Object.entries(declared.forms ?? {}) as [
    Setting,
    readonly [RegExp, string],
  ][])
    if (env[setting] !== undefined && !form.test(env[setting])) {
      if (setting === 'EMAIL_WEBHOOK_SECRET')
        warn(setting, `is not what ${name} proves its delivery events by: they are refused`, `Set it to ${wanted}.`);
      else fatal(setting, `is of no use with EMAIL_PROVIDER=${name}`, `Set it to ${wanted}.`);
    }
  const from = env.EMAIL_FROM_ADDRESS;
  if (from === undefined)
    fatal(
      'EMAIL_FROM_ADDRESS',
      'is missing although EMAIL_PROVIDER is set',
      'Set it to the address that mail comes from, for example no-reply@example.com.',
    );
  else if (!isAddress(from))
    fatal(
      'EMAIL_FROM_ADDRESS',
      'is no address',
      'Set it to an address alone, without a name: the name goes into EMAIL_FROM_NAME.',
    );
  return [...issues, ...(declared.check?.(env) ?? [])];
}

function checkSmtp({
  EMAIL_SMTP_HOST: host,
  EMAIL_SMTP_USER: user,
  EMAIL_SMTP_PASSWORD: password,
  ...env
}: EmailEnv): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  if (env.EMAIL_SMTP_SECURE === 'none' && password !== undefined && host !== undefined && !isLocal(host))
    issues.push({
      setting: 'EMAIL_SMTP_SECURE',
      level: 'warning',
      message: 'is none: password and mails, with the links in them, cross the network in the clear',
      remedy: 'Set it to starttls or tls.',
    });
  if ((user === undefined) !== (password === undefined))
    issues.push({
      setting: 'EMAIL_SMTP_USER',
      level: 'fatal',
      message: 'and EMAIL_SMTP_PASSWORD belong together, and one is missing',
      remedy: 'Set both, or none.',
    });
  return issues;
}
