import { z } from 'zod';

type Schema = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- JSON Schema as zod writes it

export const inputSchema = (schema: z.ZodType): Schema => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });

const FORMATS: Record<string, string> = {
  'date-time': '2999-01-01T00:00:00Z',
  uuid: '01900000-0000-7000-8000-000000000000',
  email: 'someone@example.com',
  uri: 'https://127.0.0.1:9/',
  date: '2999-01-01',
};

/** The least value that a schema takes, as far as its JSON form tells. */
export function example(schema: Schema): unknown {
  if ('const' in schema) return schema['const'];
  if (schema['enum']) return schema['enum'][0];
  const choice = schema['anyOf'] ?? schema['oneOf'];
  if (choice) return example(choice[0]);
  if (schema['allOf']) return Object.assign({}, ...schema['allOf'].map(example));
  switch (schema['type']) {
    case 'object':
      return Object.fromEntries((schema['required'] ?? []).map((name: string) => [name, example(schema['properties']?.[name] ?? {})]));
    case 'array':
      return Array.from({ length: schema['minItems'] ?? 0 }, () => example(schema['items'] ?? {}));
    case 'string':
      return FORMATS[schema['format']] ?? 'x'.repeat(Math.max(1, schema['minLength'] ?? 1));
    case 'integer':
    case 'number':
      return Math.max(1, schema['minimum'] ?? 1);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

const types = (schema: Schema): string[] =>
  [schema['anyOf'], schema['oneOf'], schema['allOf']]
    .flatMap((list) => (list ?? []).flatMap(types))
    .concat(schema['type'] ?? [], 'const' in schema ? typeof schema['const'] : [], schema['enum'] ? typeof schema['enum'][0] : []);

/** Values of types that a schema does not take; none when it takes anything. */
export function wrongValues(schema: Schema): unknown[] {
  const taken = new Set(types(schema));
  if (taken.size === 0) return [];
  const values: [string, unknown][] = [
    ['string', 'text'],
    ['number', 7.5],
    ['boolean', true],
    ['array', ['x']],
    ['object', { x: 1 }],
  ];
  return values.filter(([type]) => !taken.has(type) && !(type === 'number' && taken.has('integer'))).map(([, value]) => value);
}
