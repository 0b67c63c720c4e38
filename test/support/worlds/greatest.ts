import { example } from './example.ts';

type Schema = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- JSON Schema as zod writes it

const KEY = 250;
/** Characters that a schema takes at most. */
function room(schema: Schema): number {
  const choice = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'];
  if (choice) return Math.max(...choice.map(room));
  if (schema['properties']) return Object.values<Schema>(schema['properties']).reduce((sum, one) => sum + room(one), 0);
  if (schema['type'] === 'array') return (schema['maxItems'] ?? Number.POSITIVE_INFINITY) * room(schema['items'] ?? {});
  return schema['type'] === 'string' && !schema['format'] && !schema['enum']
    ? (schema['maxLength'] ?? Number.POSITIVE_INFINITY)
    : 20;
}

/**
 * The greatest value of a form that a schema takes, in about so many characters and values: texts made of `piece`,
 * lists as long (`wide`) or with members as large as can be.
 */
export function greatest(
  schema: Schema,
  shape: { piece: string; wide: boolean },
  characters: number,
  values: number,
): unknown {
  const within = (one: Schema, share: number) => greatest(one, shape, characters / share, values / share);
  const choices: Schema[] | undefined = schema['anyOf'] ?? schema['oneOf'];
  if (choices) return within(choices.toSorted((a, b) => room(b) - room(a))[0]!, 1);
  if (schema['allOf'])
    return Object.assign({}, ...schema['allOf'].map((one: Schema) => within(one, schema['allOf'].length)));
  if ('const' in schema || schema['enum']) return example(schema);
  const count = (most: number, each: number) =>
    Math.max(1, Math.floor(Math.min(most, shape.wide ? characters / 40 : characters / each, values / 4)));
  switch (schema['type']) {
    case 'object': {
      const properties = Object.entries<Schema>(schema['properties'] ?? {});
      const free =
        typeof schema['additionalProperties'] === 'object' ? (schema['additionalProperties'] as Schema) : undefined;
      const shares = properties.length + (free ? 1 : 0);
      const named = properties.map(([name, one]) => [name, within(one, shares)]);
      const keys = free ? Math.floor(Math.min(characters / shares / (KEY + 120), values / shares / 6)) : 0;
      const width = schema['propertyNames']?.maxLength ?? KEY;
      return Object.fromEntries([
        ...named,
        ...Array.from({ length: keys }, (_, n) => [
          String(n).padEnd(width, 'k').slice(0, width),
          within(free!, keys * shares),
        ]),
      ]);
    }
    case 'array': {
      const items = (schema['items'] ?? {}) as Schema;
      const length = count(schema['maxItems'] ?? Number.POSITIVE_INFINITY, Math.min(characters, room(items)));
      return Array.from({ length: Math.max(length, schema['minItems'] ?? 0) }, () => within(items, length));
    }
    case 'string': {
      if (schema['format']) return example(schema);
      const length = Math.floor(Math.min(schema['maxLength'] ?? Number.POSITIVE_INFINITY, characters));
      return shape.piece.repeat(Math.ceil(length / shape.piece.length)).slice(0, length);
    }
    case undefined:
      return Array.from(
        { length: Math.max(1, Math.floor(Math.min(1_000, characters / 100, values / 2))) },
        () => shape.piece,
      );
    default:
      return example(schema);
  }
}

/** The ways to the lists of a schema, for putting a wrong list there. */
export function listsOf(schema: Schema, at: readonly string[] = []): (readonly string[])[] {
  const choices: Schema[] = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'] ?? [];
  return [
    ...(schema['type'] === 'array' ? [at] : []),
    ...choices.flatMap((one) => listsOf(one, at)),
    ...Object.entries<Schema>(schema['properties'] ?? {}).flatMap(([name, one]) => listsOf(one, [...at, name])),
  ];
}
