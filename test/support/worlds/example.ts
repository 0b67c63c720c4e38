import { z } from 'zod';

type Schema = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- JSON Schema as zod writes it

export const inputSchema = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });

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
      return Object.fromEntries(
        (schema['required'] ?? []).map((name: string) => [name, example(schema['properties']?.[name] ?? {})]),
      );
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
    .concat(
      schema['type'] ?? [],
      'const' in schema ? typeof schema['const'] : [],
      schema['enum'] ? typeof schema['enum'][0] : [],
    );

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
  return values
    .filter(([type]) => !taken.has(type) && !(type === 'number' && taken.has('integer')))
    .map(([, value]) => value);
}

const FURTHEST = 6;
/**
 * Inputs each of which breaks one rule of a schema, at any depth: types, sizes, values, forms, fields that are missing
 * or unknown.
 */
export function* mutants(schema: Schema, depth = 0): Generator {
  if (depth > FURTHEST) return;
  const options: Schema[] = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'];
  yield* wrongValues(schema);
  if (options) for (const option of options) for (const value of mutants(option, depth + 1)) yield value;
  if (schema['enum'] || 'const' in schema) yield 'none-of-these';
  switch (schema['type']) {
    case 'string':
      if (schema['minLength'] > 0) yield '';
      if (schema['maxLength'] < 100_000) yield 'x'.repeat(schema['maxLength'] + 1);
      if (schema['format'] || schema['pattern']) yield* ['\u0001 ?', '9999-12-31T00:00:00Z'];
      else yield* ['', '\u0001 ?', '9999-12-31T00:00:00Z'];
      break;
    case 'integer':
    case 'number':
      yield* [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0.5, Number.NaN];
      break;
    case 'array': {
      const one = example(schema['items'] ?? {});
      if (schema['minItems'] > 0) yield [];
      if (schema['maxItems'] < 1_000) yield Array.from({ length: schema['maxItems'] + 1 }, () => one);
      for (const value of mutants(schema['items'] ?? {}, depth + 1)) yield [value];
      break;
    }
    case 'object': {
      const valid = example(schema) as object;
      const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
      yield { ...valid, an_invented_field: 1 };
      for (const name of (schema['required'] ?? []) as string[])
        yield Object.fromEntries(Object.entries(valid).filter(([key]) => key !== name));
      for (const [name, property] of properties)
        for (const value of mutants(property, depth + 1)) yield { ...valid, [name]: value };
      if (typeof schema['additionalProperties'] === 'object')
        for (const value of mutants(schema['additionalProperties'], depth + 1)) yield { ...valid, something: value };
    }
  }
}
