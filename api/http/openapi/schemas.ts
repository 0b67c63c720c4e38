import { z } from 'zod';

export type Json = Record<string, unknown>;
type Io = 'input' | 'output';

/** Schemas by the names that they have in the document. */
export type Shapes = Readonly<Record<string, z.ZodType>>;

type Known = Record<string, unknown>;
/** What is known of each schema, and the name of those that have one. */
class Named extends z.core.$ZodRegistry<Known> {
  private readonly ids: ReadonlyMap<z.core.$ZodType, string>;
  constructor(ids: ReadonlyMap<z.core.$ZodType, string>) {
    super();
    this.ids = ids;
  }
  override get<S extends z.core.$ZodType>(schema: S): z.core.$replace<Known, S> | undefined {
    const id = this.ids.get(schema);
    const known: Known = { ...z.globalRegistry.get(schema), ...(id !== undefined && { id }) };
    return known as z.core.$replace<Known, S>; // plain values: there is nothing of the schema to replace in them
  }
}

/**
 * A schema as JSON Schema 2020-12; what has no form there (dates made from text, refinements) is described by what is
 * sent.
 */
function toJson(schema: z.ZodType, io: Io, ids: ReadonlyMap<z.core.$ZodType, string>): Json {
  const json: Json = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    metadata: new Named(ids),
    override: ({ zodSchema, jsonSchema }) =>
      void (zodSchema instanceof z.ZodDate && Object.assign(jsonSchema, { type: 'string', format: 'date-time' })),
  });
  delete json['$schema'];
  return withNamedKeys(json) as Json;
}

/** A record over known keys as an object with these fields: tools do not look for fields in a rule for names. */
function withNamedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNamedKeys);
  if (typeof value !== 'object' || value === null) return value;
  const inside = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withNamedKeys(part)]));
  const { propertyNames, additionalProperties, required, ...rest } = inside;
  if (propertyNames === undefined || !Array.isArray(required) || rest['properties'] !== undefined) return inside;
  return {
    ...rest,
    properties: Object.fromEntries(required.map((key: string) => [key, additionalProperties])),
    required,
    additionalProperties: false,
  };
}

/** Writes schemas for one document, and keeps those that have names: each once, or twice where it is sent and answered in two forms. */
export function openSchemas(shapes: Shapes) {
  const components = new Map<string, unknown>();
  const plain = new Map<z.core.$ZodType, string>();
  const sent = new Map<z.core.$ZodType, string>();
  for (const [name, schema] of Object.entries(shapes)) {
    const [input, output] = (['input', 'output'] as const).map((io) => JSON.stringify(toJson(schema, io, new Map())));
    plain.set(schema, name);
    sent.set(schema, input === output ? name : `${name}Input`);
  }
  return {
    /** A query as it is sent: its fields become parameters, so that nothing in it is referred to. */
    queryOf: (schema: z.ZodType): Json => toJson(schema, 'input', new Map()),
    /** A schema as it is sent (`input`) or answered (`output`), with references to those that have names. */
    schemaOf(schema: z.ZodType, io: Io): Json {
      const { $defs = {}, ...root } = toJson(schema, io, io === 'input' ? sent : plain);
      const placed = (value: unknown): unknown =>
        JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'));
      for (const [name, definition] of Object.entries($defs as Json)) components.set(name, placed(definition));
      return placed(root) as Json;
    },
    add: (name: string, schema: Json) => void components.set(name, schema),
    /** Those that were referred to until now, by name. */
    components: (): Json => Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}
export type Schemas = ReturnType<typeof openSchemas>;
