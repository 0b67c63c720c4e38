import type { z } from 'zod';

/** Characters of a list of values that a sentence names. */
const LISTED = 200;

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  set: 'a list',
  object: 'an object',
  record: 'an object',
  map: 'an object',
  date: 'a date',
  null: 'null',
  file: 'a file',
};
const NUMBERS = new Set(['number', 'int', 'bigint']);

/**
 * The words for a string that must have a known form. A schema with `regex` says its form itself; this is for one that
 * does not.
 */
const FORMS: Readonly<Record<string, string>> = {
  email: 'must be an email address, like name@example.com',
  url: 'must be an address, like https://example.com/page',
  httpurl: 'must be an address, like https://example.com/page',
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  datetime: 'must be a date and time of ISO 8601 with its offset, like 2026-01-31T18:00:00Z',
  date: 'must be a day of the calendar, like 2026-01-31',
  time: 'must be a time of the day, like 18:00:00',
  duration: 'must be a duration of ISO 8601, like PT1H',
  ipv4: 'must be an IPv4 address',
  ipv6: 'must be an IPv6 address',
  cidrv4: 'must be a range of IPv4 addresses, like 10.0.0.0/8',
  cidrv6: 'must be a range of IPv6 addresses, like fd00::/8',
  hostname: 'must be the name of a host',
  base64: 'must be base64',
  base64url: 'must be base64url',
  hex: 'must be hexadecimal',
  json_string: 'must be JSON',
  e164: 'must be a phone number, like +14155550123',
  jwt: 'must be a JWT',
  lowercase: 'must be in lower case',
  uppercase: 'must be in upper case',
};

const shown = (value: unknown): string =>
  (typeof value === 'string' && /^[^\s,]+$/.test(value)) || typeof value === 'bigint'
    ? String(value)
    : JSON.stringify(value);
/** The values as far as a sentence has room for them. */
function listed(values: readonly unknown[]): string {
  let length = 0;
  const named = values.map(shown).filter((text) => (length += text.length + 2) <= LISTED);
  return [...named, ...(named.length < values.length ? ['…'] : [])].join(', ');
}
const counted = (count: number | bigint, one: string, more: string): string =>
  `${count} ${Number(count) === 1 ? one : more}`;

type Degree = 'at least' | 'at most' | 'exactly';
function wordsOfSize(
  { origin, inclusive = true }: { origin: string; inclusive?: boolean | undefined },
  bound: number | bigint,
  degree: Degree,
): string {
  const isLeast = degree === 'at least';
  switch (origin) {
    case 'string':
      return isLeast && Number(bound) === 1
        ? 'must not be empty'
        : `must have ${degree} ${counted(bound, 'character', 'characters')}`;
    case 'array':
    case 'set':
    case 'map':
    case 'object':
      return isLeast && Number(bound) === 1
        ? 'must not be empty'
        : `must have ${degree} ${counted(bound, 'entry', 'entries')}`;
    case 'file':
      return `must have ${degree} ${counted(bound, 'byte', 'bytes')}`;
    case 'date':
      return `must be no ${isLeast ? 'earlier' : 'later'} than ${new Date(Number(bound)).toISOString()}`;
    default:
      return inclusive ? `must be ${degree} ${bound}` : `must be ${isLeast ? 'more' : 'less'} than ${bound}`;
  }
}

function wordsOfFormat(issue: { format: string; prefix?: unknown; suffix?: unknown; includes?: unknown }): string {
  if (typeof issue.prefix === 'string') return `must begin with ${shown(issue.prefix)}`;
  if (typeof issue.suffix === 'string') return `must end with ${shown(issue.suffix)}`;
  if (typeof issue.includes === 'string') return `must contain ${shown(issue.includes)}`;
  return FORMS[issue.format] ?? 'does not have the form that it must have';
}

/** Names what an option of a union takes; undefined where it takes this type of value and finds the fault within. */
function takenBy([fault, ...others]: readonly z.core.$ZodIssue[]): string | undefined {
  if (fault === undefined || others.length > 0 || fault.path.length > 0) return undefined;
  if (fault.code === 'invalid_type') return TYPES[fault.expected];
  return fault.code === 'invalid_value' ? listed(fault.values) : undefined;
}
/**
 * Names what a union must be when none of its options takes this type of value; undefined when one of them says more.
 */
export function wordsOfOptions(options: readonly (readonly z.core.$ZodIssue[])[]): string | undefined {
  const taken = options.map(takenBy);
  return taken.length > 0 && taken.every((one) => one !== undefined)
    ? `must be ${[...new Set(taken)].join(' or ')}`
    : undefined;
}

/**
 * The sentence for a fault that a schema finds, without the name of the field, which stands before it. Sentences that a
 * schema gives itself (`refine`, `regex`) come first; these take the place of zod's wherever callers see them.
 */
export function wordsOfIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      if (NUMBERS.has(issue.expected) && typeof issue.input === 'number' && !Number.isFinite(issue.input))
        return 'must be a finite number';
      return `must be ${TYPES[issue.expected] ?? 'of another type'}`;
    case 'too_big':
      return wordsOfSize(issue, issue.maximum, issue.exact ? 'exactly' : 'at most');
    case 'too_small':
      return wordsOfSize(issue, issue.minimum, issue.exact ? 'exactly' : 'at least');
    case 'invalid_format':
      return wordsOfFormat(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${String(issue.divisor)}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${listed(issue.values)}`;
    case 'unrecognized_keys':
      return 'has a field that is not known';
    case 'invalid_union':
      if (issue.input === undefined) return 'is required';
      if ('options' in issue && Array.isArray(issue.options)) return `must be one of ${listed(issue.options)}`;
      return wordsOfOptions(issue.errors) ?? 'has none of the forms that are taken here';
    case 'invalid_key':
      return 'has a key that is not taken here';
    case 'invalid_element':
      return 'has an entry that is not taken here';
    case 'custom':
      return 'is not valid';
    default:
      return 'is not valid';
  }
}
