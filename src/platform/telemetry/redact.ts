// What never reaches a log: names of fields, and forms of secrets wherever they stand in a text. Secret fields of
// providers come from their declarations (`keepOutOfLogs`).

/** Compared in lower case without `-`, `_` and blanks; the end of a name is enough (`webhookSigningSecret`). */
const NAMES = [
  'password',
  'passwd',
  'passphrase',
  'secret',
  'token',
  'tokens',
  'apikey',
  'accesskey',
  'privatekey',
  'secretkey',
  'signingkey',
  'encryptionkey',
  'keyhash',
  'authorization',
  'auth',
  'cookie',
  'cookies',
  'credential',
  'credentials',
  'jwt',
  'csrf',
  'xcsrftoken',
  'bearer',
  'codeverifier',
  'authorizationcode',
  'providertoken',
  'plaintext',
  'sealed',
  'signature',
  'nsec',
  'mnemonic',
  'databaseurl',
  'redisurl',
  'connectionstring',
];
/** Names of fields that are declared as secret elsewhere; unlike those above they count as a whole name only. */
const declared = new Set<string>();
// None begins in the midst of what it would itself read: a long text costs its length, not the square of it.
const FORMS: readonly [form: RegExp, instead: string][] = [
  [/\bpm_live_[0-9A-Za-z]{8,}/g, 'pm_live_…'],
  [/\b(pos_|posr_|pca_|pcs_|whsec_)[0-9A-Za-z_+/=-]{8,}/g, '$1…'],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, 'eyJ…'], // a JWT
  [/\bv2:[A-Za-z0-9+/=]{24,}/g, 'v2:…'], // a sealed value
  [/\bnsec1[02-9ac-hj-np-z]{20,}/g, 'nsec1…'],
  [/\b(Bearer|Basic|DPoP)\s+[\w.~+/=-]{6,}/gi, '$1 …'],
  [/((?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/)[^\s/:@]*:[^\s/@]+@/gi, '$1…@'], // user and password in an address
  [
    /([?&;](?:access_token|refresh_token|token|id_token|code|client_secret|api_?key|key|password|secret|signature|sig|state|code_verifier)=)[^&\s"'#]+/gi,
    '$1…',
  ],
];
const GONE = '[redacted]';
const DEEPEST = 8;

const plainName = (name: string): string => name.toLowerCase().replace(/[-_\s]/g, '');
/** From now on values of fields with these names reach no log either: whoever declares a secret field says so here. */
export function keepOutOfLogs(names: readonly string[]): void {
  for (const name of names) declared.add(plainName(name));
}

const isSecretName = (name: string): boolean => {
  const plain = plainName(name);
  if (declared.has(plain)) return true;
  return NAMES.some((known) => plain === known || (known.length > 4 && plain.endsWith(known)));
};

/** A text without any secret whose form is known. */
export const redactText = (text: string): string =>
  FORMS.reduce((rest, [form, instead]) => rest.replace(form, instead), text);

/**
 * A copy without the values of secret fields, and with every text redacted; errors become plain objects with their
 * causes.
 */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value;
  if (depth >= DEEPEST) return '[deeper]';
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Error) return redactError(value, depth);
  if (Array.isArray(value)) return value.slice(0, 100).map((entry) => redact(entry, depth + 1));
  if (value instanceof Map) return redact(Object.fromEntries(value), depth);
  if (value instanceof Set) return redact([...value], depth);
  if (value instanceof URL) return redactText(value.href);
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      name,
      isSecretName(name) && entry !== null && entry !== undefined && typeof entry !== 'boolean'
        ? GONE
        : redact(entry, depth + 1),
    ]),
  );
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause, ...more } = error as Error & Record<string, unknown>;
  // What a database client hangs on its errors beside the message may hold values of rows.
  const kept = Object.fromEntries(
    Object.entries(more).filter(([field]) =>
      [
        'code',
        'status',
        'failure',
        'errno',
        'syscall',
        'constraint_name',
        'table_name',
        'severity',
        'routine',
        'extra',
      ].includes(field),
    ),
  );
  return {
    type: name || error.constructor.name,
    message: redactText(message),
    ...(redact(kept, depth + 1) as object),
    ...(stack && { stack: redactText(stack) }),
    ...(error instanceof AggregateError && { errors: redact(error.errors, depth + 1) }),
    ...(cause !== undefined && { cause: redact(cause, depth + 1) }),
  };
}
