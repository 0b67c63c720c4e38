import { Ajv } from 'ajv';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { apiDocument } from './api-documents.ts';
import { named, type Operation, pattern, pointer, type Schema, worded } from './api-operations.ts';

// Lexicons of the AT Protocol, as operations below `/xrpc` with bodies, queries and records by JSON Schema.

const Body = z.object({ schema: z.record(z.string(), z.unknown()).optional() });
const Params = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});
const Method = z.object({
  type: z.enum(['query', 'procedure']),
  parameters: Params.optional(),
  input: Body.optional(),
  output: Body.optional(),
});
const Lexicon = z.object({ id: z.string(), defs: z.record(z.string(), z.record(z.string(), z.unknown())) });
const Field = z.looseObject({
  type: z.string(),
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
  nullable: z.array(z.string()).default([]),
  ref: z.string().optional(),
  refs: z.array(z.string()).default([]),
  accept: z.array(z.string()).default(['*/*']),
});
const KEPT = ['const', 'enum', 'minimum', 'maximum'];

/** Every lexicon of a folder. Where one names a definition of another that is not there, it may be any. */
export function lexicons(folder: string): Operation[] | undefined {
  const path = apiDocument(folder);
  if (path === undefined) return undefined;
  const all = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .map((file) => Lexicon.parse(JSON.parse(readFileSync(join(path, file), 'utf8'))));
  const defs = new Map(
    all.flatMap(({ id, defs: own }) =>
      Object.entries(own).map(([name, def]) => [`${id}#${name}`, { id, def }] as const),
    ),
  );
  const asked = validators(defs, false);
  const answered = validators(defs, true);
  return all.flatMap(({ id, defs: { main } }) => {
    const { data } = Method.safeParse(main);
    if (!data) return [];
    const { type, parameters = { properties: {}, required: [] }, input, output } = data;
    const body = input?.schema && asked(id, input.schema);
    const answer = output?.schema && answered(id, output.schema);
    const query = asked(id, { type: 'params', ...parameters });
    return [
      {
        method: type === 'query' ? 'GET' : 'POST',
        path: pattern(`/xrpc/${id}`),
        query: named(
          Object.keys(parameters.properties).map((name) => ({ name, required: parameters.required.includes(name) })),
        ),
        judgeQuery: (params: URLSearchParams) => query(valuesOf(params, parameters.properties)),
        ...(body && {
          judge: (sent: unknown) => {
            const { collection, record } = sent as { collection?: string; record?: unknown };
            const def = defs.get(`${collection}#main`)?.def;
            const schema = def?.['type'] === 'record' ? (def['record'] as Schema) : undefined;
            const unknown = record !== undefined && !schema ? [`unknown collection ${collection}`] : [];
            return [
              ...body(sent),
              ...unknown,
              ...(record !== undefined && schema ? asked(collection!, schema)(record) : []),
            ];
          },
        }),
        ...(answer && { judgeAnswer: answer }),
      },
    ];
  });
}

/** A query's values by the types that its lexicon has for them. */
const valuesOf = (query: URLSearchParams, properties: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const { type } = (properties[name] ?? {}) as { type?: string };
      const text = query.get(name)!;
      const read = {
        array: () => query.getAll(name),
        integer: () => Number(text),
        boolean: () => JSON.parse(text) as unknown,
      };
      return [name, type !== undefined && type in read ? read[type as keyof typeof read]() : text];
    }),
  );

type Defs = ReadonlyMap<string, { id: string; def: Schema }>;
/** Faults by any schema of a lexicon. `partial`: an answer in a fixture has the fields that are read. */
function validators(defs: Defs, partial: boolean) {
  const schema = (id: string, raw: unknown): Schema => {
    const { type, properties, required, nullable, ref, refs, accept, ...field } = Field.parse(raw);
    const to = (name: string) => {
      const full = `${name.startsWith('#') ? id : ''}${name}${name.includes('#') ? '' : '#main'}`;
      return { full, schema: defs.has(full) ? { $ref: `lexicons${pointer('definitions', full)}` } : {} };
    };
    const kept = Object.fromEntries(Object.entries(field).filter(([name]) => KEPT.includes(name)));
    const bounds = (what: string) => ({
      ...(field['minLength'] !== undefined && { [`min${what}`]: field['minLength'] }),
      ...(field['maxLength'] !== undefined && { [`max${what}`]: field['maxLength'] }),
    });
    const made: Record<string, () => Schema> = {
      ref: () => to(ref!).schema,
      union: () => {
        const targets = refs.map(to).map((one) => ({ ...one, name: one.full.replace(/#main$/, '') }));
        return {
          type: 'object',
          required: ['$type'],
          properties: { $type: { enum: targets.map(({ name }) => name) } },
          allOf: targets.map((one) => ({
            anyOf: [{ not: { required: ['$type'], properties: { $type: { const: one.name } } } }, one.schema],
          })),
        };
      },
      array: () => ({ type: 'array', items: schema(id, field['items']), ...bounds('Items') }),
      string: () => ({ type: 'string', ...bounds('Length'), ...kept }),
      integer: () => ({ type: 'integer', ...kept }),
      boolean: () => ({ type: 'boolean', ...kept }),
      token: () => ({ type: 'string' }),
      blob: () => ({
        type: 'object',
        required: ['$type', 'ref', 'mimeType', 'size'],
        properties: {
          $type: { const: 'blob' },
          ref: { type: 'object', required: ['$link'] },
          mimeType: { pattern: `^(${accept.map((one) => one.replaceAll('*', '.*')).join('|')})$` },
          size: { type: 'integer', ...(field['maxSize'] !== undefined && { maximum: field['maxSize'] }) },
        },
        additionalProperties: false,
      }),
    };
    if (type !== 'object' && type !== 'params') return made[type]?.() ?? { type: 'object' };
    const fields = Object.entries(properties).map(([name, of]) => {
      const own = schema(id, of);
      return [name, nullable.includes(name) ? { anyOf: [own, { type: 'null' }] } : own];
    });
    return {
      type: 'object',
      properties: { $type: { type: 'string' }, ...Object.fromEntries(fields) },
      required: partial ? [] : required,
      additionalProperties: false,
    };
  };
  const definitions = Object.fromEntries([...defs].map(([name, { id, def }]) => [name, definition(id, def)]));
  function definition(id: string, def: Schema): Schema {
    if (def['type'] === 'record') return schema(id, def['record']);
    return Method.safeParse(def).success ? {} : schema(id, def);
  }
  const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema({ definitions }, 'lexicons');
  return (id: string, raw: unknown) => {
    const validate = ajv.compile(schema(id, raw));
    return (value: unknown) => (validate(value) ? [] : worded(validate.errors));
  };
}
