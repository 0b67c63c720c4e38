import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { apiDocument } from './api-documents.ts';
import { named, namesOf, NONE, type Operation, pattern } from './api-operations.ts';

// Meta's descriptions for generated code: a file for each type of node, with its edges, parameters and fields.

const Node = z.object({
  apis: z.array(
    z.object({
      method: z.string(),
      endpoint: z.string().optional(),
      return: z.string(),
      params: z.array(z.object({ name: z.string(), required: z.boolean(), type: z.string() })),
    }),
  ),
  fields: z.array(z.object({ name: z.string(), type: z.string() })),
});
const Enums = z.array(z.object({ name: z.string(), values: z.array(z.string()) }));
/** Every read knows them. */
const COMMON = ['fields', 'limit', 'after'];
const IG_ONLY = 'ForIGOnlyAPI';

/** The operations of nodes, by what their paths begin with: the path of a node tells nothing of its type. */
export function metaNodes(nodes: Readonly<Record<string, string>>): Operation[] | undefined {
  const folder = apiDocument('facebook');
  if (folder === undefined) return undefined;
  const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const enums = new Map(Enums.parse(read('enum_types.json')).map(({ name, values }) => [name, values]));
  const all = new Map(
    readdirSync(folder).flatMap((file) => {
      const { data } = Node.safeParse(read(file));
      return data ? [[file.replace(/\.json$/, ''), data] as const] : [];
    }),
  );

  /** What is wrong with a value, which in a query is a text. */
  const wrong = (type: string, value: unknown): boolean => {
    const list = /^list<(.+)>$/.exec(type)?.[1];
    if (list !== undefined) {
      const ones = typeof value === 'string' ? value.split(',') : value;
      return !Array.isArray(ones) || ones.some((one) => wrong(list, one));
    }
    if (type === 'string') return typeof value !== 'string';
    if (type === 'bool') return !['true', 'false'].includes(String(value));
    if (type === 'int' || type === 'unsigned int') return !/^-?\d+$/.test(String(value));
    if (type === 'float') return !Number.isFinite(Number(value));
    if (type === 'map') return typeof value !== 'object';
    const values = enums.get(type);
    return values !== undefined && !values.some((one) => one.toLowerCase() === String(value).toLowerCase());
  };

  /** Names of `a,b.limit(1){c}` that a type has neither as a field nor as an edge. */
  const unknownFields = (type: string, text: string): string[] => {
    const node = all.get(type);
    const has = (name: string) =>
      node?.fields.find((one) => one.name === name)?.type ??
      node?.apis.find(({ method, endpoint }) => method === 'GET' && endpoint === name)?.return;
    return splitFields(text).flatMap(({ name, inner }) => {
      const of = has(name);
      if (node && of === undefined) return [`unknown field ${name} of ${type}`];
      return inner === undefined ? [] : unknownFields(within(type, of ?? ''), inner);
    });
  };

  return Object.entries(nodes).flatMap(([path, type]) =>
    all.get(type)!.apis.map(({ method, endpoint, params, return: returned }) => {
      const types = new Map(params.map((one) => [one.name, one.type]));
      const fields = named(params);
      const wrongs = (values: object) =>
        Object.entries(values).flatMap(([name, value]) =>
          types.has(name) && wrong(types.get(name)!, value) ? [`${name} is no ${types.get(name)}`] : [],
        );
      const judge = (body: unknown) => [
        ...namesOf(fields, Object.keys(body as object), 'field'),
        ...wrongs(body as object),
      ];
      const judgeQuery = (query: URLSearchParams) => [
        ...wrongs(Object.fromEntries(query)),
        ...unknownFields(endpoint === undefined ? type : within(type, returned), query.get('fields') ?? ''),
      ];
      const reads = method === 'GET';
      return {
        method,
        path: pattern(`/${path}${endpoint === undefined ? '' : `/${endpoint}`}`),
        query: reads
          ? { ...fields, known: new Set([...fields.known, ...COMMON]) }
          : { ...NONE, known: new Set(['fields']) },
        judgeQuery,
        ...(!reads && { judge, form: fields, multipart: fields }),
      };
    }),
  );
}

/** The type that a type's edge or field is of: those of the login without Facebook have names of their own. */
const within = (type: string, of: string): string => {
  const one = of.replace(/^list<(.+)>$/, '$1');
  return type.endsWith(IG_ONLY) ? `IG${one}${IG_ONLY}` : one;
};

/** The names at the top of a list of fields, each with what is in its braces. */
function splitFields(text: string): { name: string; inner?: string }[] {
  const fields: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    if (at === text.length || (text[at] === ',' && depth === 0)) {
      if (at > from) fields.push(text.slice(from, at));
      from = at + 1;
    } else if ('({'.includes(text[at]!)) depth++;
    else if (')}'.includes(text[at]!)) depth--;
  }
  return fields.map((field) => {
    const inner = /\{(.*)\}$/.exec(field)?.[1];
    return { name: /^\w*/.exec(field)![0], ...(inner !== undefined && { inner }) };
  });
}
