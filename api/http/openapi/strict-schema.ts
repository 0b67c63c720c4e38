import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What has one schema or several inside; other keys hold values. */
const INSIDE = new Set(['items', 'additionalProperties', 'not', 'anyOf', 'oneOf', 'allOf', 'prefixItems']);
/** Keys that say nothing of a value. */
const WORDS = new Set(['title', 'description', 'default']);
const isAnything = (schema: unknown): boolean => isObject(schema) && Object.keys(schema).every((key) => WORDS.has(key));
const ANYTHING = { anyOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })) };

/**
 * Strict clients know neither `const` nor a list of types nor the keys that only tools of schemas read, and want to be
 * told the types of what may be anything.
 */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain);
  if (!isObject(schema)) return schema;
  const { $schema: _, const: only, propertyNames: __, ...rest } = schema;
  const stated = {
    ...Object.fromEntries(Object.entries(rest).map(plainEntry)),
    ...(only !== undefined && { type: typeof only, enum: [only] }),
  };
  return isAnything(stated) ? { ...stated, ...ANYTHING } : stated;
}

function plainEntry([key, value]: [string, unknown]): [string, unknown] {
  if (key === 'type' && Array.isArray(value)) return ['anyOf', value.map((type) => ({ type }))];
  if (key === 'properties' && isObject(value))
    return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))];
  if (key === 'additionalProperties' && isAnything(value)) return [key, true];
  return [key, INSIDE.has(key) ? plain(value) : value];
}

/** The schema of the input of a tool for clients: an object at the top, all of it in one place. */
export const inputSchemaOf = (schema: z.ZodObject): JsonSchema => schemaOf(schema, 'input');

/**
 * The schema of what a tool answers: its answer, or a refusal. Clients hold both against it, so nothing that only one of
 * them has may be required.
 */
export function outputSchemaOf(schema: z.ZodObject): JsonSchema {
  const { required = [], additionalProperties: _, ...answer } = schemaOf(schema, 'output');
  return { ...answer, anyOf: [{ required }, { required: ['statusCode', 'code', 'message'] }] };
}

const schemaOf = (schema: z.ZodObject, io: 'input' | 'output'): JsonSchema =>
  plain(z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' })) as JsonSchema; // an object stays one
