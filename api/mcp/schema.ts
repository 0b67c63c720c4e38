import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Strict clients know neither `const` nor the keys that only tools of schemas read. */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain);
  if (!isObject(schema)) return schema;
  const { $schema: _, const: only, propertyNames: __, ...rest } = schema;
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, plain(value)])),
    ...(only !== undefined && { type: typeof only, enum: [only] }),
  };
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
