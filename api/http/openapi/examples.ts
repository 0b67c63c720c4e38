import type { Json } from './schemas.ts';

// Examples are made of the schemas, so that none of them can be out of date: a field has the value that its name stands
// for, or the one that its schema names.

const INSTANT = '2026-09-01T10:00:00.000Z';
const ID = '0198f2a4-6b1e-7c3d-9a52-4e8d1f60b7c9';

/** What a field of this name usually holds. */
const VALUES: Readonly<Record<string, unknown>> = {
  alt: 'A red bicycle',
  code: 'not_found',
  color: '#612AD5',
  company: 'Acme Ltd',
  content: '<p>Hello</p>',
  creationMethod: 'API',
  currency: 'usd',
  description: 'Our spring campaign',
  detail: 'scheduled',
  email: 'ann@acme.example',
  error: 'The network was not reachable',
  errorKind: 'network',
  event: 'post.published',
  events: ['post.published'],
  functionName: 'voices',
  group: 'spring-campaign',
  hash: '9f86d081884c7d65',
  handle: 'acme',
  icon: 'https://acme.example/icon.png',
  identifier: 'x',
  integrationName: 'Acme',
  ip: '203.0.113.7',
  integration: ID,
  kind: 'created',
  label: 'Acme',
  language: 'en',
  limit: 50,
  link: '/calendar',
  message: 'Created and scheduled',
  methodName: 'boards',
  mime: 'image/png',
  model: 'standard',
  name: 'Acme',
  newPassword: 'correct horse battery',
  nextCursor: '2026-09-01T10:00:00.000000_42',
  oldPassword: 'wrong horse battery',
  orgName: 'Acme Ltd',
  originalName: 'bicycle.png',
  page: 0,
  password: 'correct horse battery',
  path: 'https://rookery.example/uploads/bicycle.png',
  percent: 12.5,
  picture: 'https://acme.example/picture.png',
  profile: 'acme',
  prompt: 'A red bicycle in the rain',
  providerId: 'x',
  providerIdentifier: 'x',
  reason: 'published',
  releaseId: '1839273645102938476',
  repeatPassword: 'correct horse battery',
  releaseURL: 'https://x.example/acme/status/1839273645102938476',
  role: 'editor',
  rrule: 'FREQ=WEEKLY;BYDAY=MO',
  rules: 'X: at most 280 characters.',
  settings: '{"__type":"x"}',
  size: 48_213,
  summary: 'Published on time',
  text: 'Hello',
  thumbnail: 'https://rookery.example/uploads/bicycle-small.png',
  timezone: 'Europe/Berlin',
  title: 'Spring',
  token: 'eyJhbGciOiJIUzI1NiJ9.e30.ZRrHA1JJJW8opsbCGfG_HACGpVUMN_a9IRRA',
  type: 'social',
  url: 'https://acme.example/hooks/rookery',
  userAgent: 'Mozilla/5.0',
  version: 1,
};
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': INSTANT,
  date: '2026-09-01',
  email: 'ann@acme.example',
  uri: 'https://acme.example/',
  uuid: ID,
};
/** Deeper than this, optional fields are left out. */
const DEPTH = 6;

const namesInstant = (name: string) => /(At|Date|Until|date|Expiration)$/.test(name);
const namesId = (name: string) => name === 'id' || /(Id|ID)$/.test(name);

function textOf(schema: Json, name: string): string {
  const {
    format,
    pattern,
    minLength = 0,
    maxLength = Infinity,
  } = schema as {
    format?: string;
    pattern?: string;
    minLength?: number;
    maxLength?: number;
  };
  const fits = (text: string) =>
    text.length >= minLength &&
    text.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text));
  const named = VALUES[name];
  const wanted = [
    FORMATS[format ?? ''],
    ...(typeof named === 'string' ? [named] : []),
    ...(namesInstant(name) ? [INSTANT] : []),
    ...(namesId(name) ? [ID] : []),
    name,
    '#612AD5',
    'x'.repeat(Math.max(1, minLength)),
    '0'.repeat(Math.max(1, minLength)),
  ];
  return wanted.find((text) => text !== undefined && fits(text)) ?? '';
}

function numberOf(schema: Json, name: string): number {
  const { minimum, exclusiveMinimum, maximum = Infinity } = schema as Record<string, number | undefined>;
  const least = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1);
  const named = VALUES[name];
  return typeof named === 'number' && named >= least && named <= maximum
    ? named
    : Math.max(least, Math.min(1, maximum));
}

/** Makes an example of a schema; `components` are the schemas that it refers to. */
export function exampleOf(
  schema: Json,
  components: Json,
  { io, name = '' }: { io: 'input' | 'output'; name?: string },
) {
  const make = (part: Json, field: string, depth: number): unknown => {
    const [given] = (part['examples'] ?? []) as unknown[];
    if (given !== undefined) return given;
    if (typeof part['$ref'] === 'string')
      return make(components[part['$ref'].split('/').at(-1)!] as Json, field, depth);
    if ('const' in part) return part['const'];
    if (Array.isArray(part['enum'])) return part['enum'][0];
    if ('default' in part) return part['default'];
    const choices = (part['anyOf'] ?? part['oneOf']) as Json[] | undefined;
    if (choices) return make(choices.find(({ type }) => type !== 'null') ?? choices[0]!, field, depth);
    if (Array.isArray(part['allOf']))
      return Object.assign({}, ...(part['allOf'] as Json[]).map((one) => make(one, field, depth)));
    const types = [part['type'] ?? 'any'].flat() as string[];
    switch (types.find((type) => type !== 'null') ?? 'null') {
      case 'object':
        return objectOf(part, depth);
      case 'array':
        return listOf(part, field, depth);
      case 'string':
        return textOf(part, field);
      case 'integer':
      case 'number':
        return numberOf(part, field);
      case 'boolean':
        return !/^(disabled|deleted|refreshNeeded|inBetweenSteps)$/.test(field);
      default:
        return types.includes('null') ? null : {}; // any value
    }
  };
  const objectOf = (part: Json, depth: number) => {
    const required = (part['required'] ?? []) as string[];
    const properties = Object.entries((part['properties'] ?? {}) as Record<string, Json>);
    // of a body that needs nothing the first field stands for what it may say
    const isFree = io === 'input' && depth === 0 && required.length === 0;
    const shown = properties.filter(
      ([key], n) => required.includes(key) || (io === 'output' ? depth < DEPTH : isFree && n === 0),
    );
    return Object.fromEntries(shown.map(([key, property]) => [key, make(property, key, depth + 1)]));
  };
  const listOf = (part: Json, field: string, depth: number) => {
    const tuple = part['prefixItems'] as Json[] | undefined;
    if (tuple) return tuple.map((one) => make(one, field, depth + 1));
    const least = Math.max((part['minItems'] as number | undefined) ?? 0, depth < DEPTH ? 1 : 0);
    if (least === 0 || part['maxItems'] === 0) return [];
    const one = make((part['items'] ?? {}) as Json, field.replace(/s$/, ''), depth + 1);
    return Array.from({ length: least }, () => one);
  };
  return make(schema, name, 0);
}
