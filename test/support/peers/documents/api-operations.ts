import { Ajv, type ErrorObject } from 'ajv';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { apiDocument } from './api-documents.ts';

// Official descriptions of APIs, in whatever form their makers publish them, as operations that a request is held against.

/** What a description says of one operation. `query`, `form`: the names that it knows, and which must be there. */
export interface Operation {
  method: string;
  /** Where it has a server of its own. */
  base?: string;
  path: RegExp;
  query: Named;
  /** Faults of the values in a query. */
  judgeQuery?: (query: URLSearchParams) => string[];
  /** Of a form, and of a form with files. */
  form?: Named;
  multipart?: Named;
  /** Faults of a JSON body. */
  judge?: (body: unknown) => string[];
  /** Faults of an answer with a status of success: of the fields that are there. */
  judgeAnswer?: (answer: unknown) => string[];
}
interface Named {
  known: ReadonlySet<string>;
  required: readonly string[];
}
export type Schema = Record<string, unknown>;

export const NONE: Named = { known: new Set(), required: [] };
export const named = (fields: readonly { name: string; required?: boolean | undefined }[]): Named => ({
  known: new Set(fields.map(({ name }) => name)),
  required: fields.flatMap(({ name, required }) => (required ? [name] : [])),
});
export const pattern = (template: string): RegExp =>
  new RegExp(`^${template.replace(/[.*+?^$()[\]|\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}/?$`);
const read = (file: string): unknown => {
  const path = apiDocument(file);
  if (path === undefined) return undefined;
  const text = readFileSync(path, 'utf8');
  return file.endsWith('.json') ? JSON.parse(text) : parse(text);
};

const Parameter = z.object({
  name: z.string(),
  in: z.string(),
  required: z.boolean().optional(),
  type: z.string().optional(),
});
const Content = z.record(z.string(), z.object({ schema: z.unknown() }));
const Servers = z.array(z.object({ url: z.string() })).optional();
const Described = z.object({
  servers: Servers,
  consumes: z.array(z.string()).default([]),
  parameters: z.array(z.record(z.string(), z.unknown())).default([]),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string(), z.object({ content: Content.optional() }).catch({})).default({}),
});
const OpenApi = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
export const pointer = (...steps: string[]) =>
  `#/${steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
export const worded = (errors: readonly ErrorObject[] | null | undefined) =>
  (errors ?? [])
    .slice(0, 3)
    .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);

/** A document of OpenAPI 3 or Swagger 2. `apart`: a parameter that may be a header instead, as a token. */
export function openApi(file: string, apart?: string): Operation[] | undefined {
  const raw = read(file);
  if (raw === undefined) return undefined;
  const options = { strict: false, validateSchema: false, validateFormats: false, logger: false } as const;
  const asked = new Ajv(options).addSchema(plain(raw, false) as Schema, 'document');
  const answered = new Ajv(options).addSchema(plain(raw, true) as Schema, 'document');
  const judge = (ajv: Ajv, ref: string) => (body: unknown) => {
    const validate = ajv.compile({ $ref: `document${ref}` });
    return validate(body) ? [] : worded(validate.errors);
  };
  const at = (ref: string): unknown =>
    ref
      .slice(2)
      .split('/')
      .reduce<unknown>(
        (value, step) => (value as Schema)[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')],
        raw,
      );
  const deref = (value: Schema): Schema => (typeof value['$ref'] === 'string' ? (at(value['$ref']) as Schema) : value);
  const fieldsOf = (schema: unknown): Named | undefined => {
    if (schema === undefined) return undefined;
    const {
      properties,
      required = [],
      allOf,
      discriminator,
    } = deref(schema as Schema) as {
      properties?: Schema;
      required?: string[];
      allOf?: Schema[];
      discriminator?: unknown;
    };
    const parts = allOf?.map((part) => fieldsOf(part) ?? NONE);
    if (parts)
      return {
        known: new Set(parts.flatMap((part) => [...part.known])),
        required: parts.flatMap((part) => part.required),
      };
    if (discriminator) return undefined; // one of the fields tells which others there are
    return properties && named(Object.keys(properties).map((name) => ({ name, required: required.includes(name) })));
  };

  /** Of a body in JSON that Swagger 2 describes by the fields of a form. */
  const judgeOfFields = (fields: readonly z.output<typeof Parameter>[]) => {
    const properties = Object.fromEntries(fields.map(({ name, type }) => [name, { type }]));
    const { required } = named(fields);
    const validate = asked.compile({ type: 'object', properties, required, additionalProperties: false });
    return (body: unknown) => (validate(body) ? [] : worded(validate.errors));
  };
  const formsOf = (content: z.output<typeof Content>) => {
    const form = fieldsOf(content['application/x-www-form-urlencoded']?.schema);
    const multipart = fieldsOf(content['multipart/form-data']?.schema);
    return { ...(form && { form }), ...(multipart && { multipart }) };
  };

  return Object.entries(OpenApi.parse(raw).paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      if (!item[method]) return [];
      const { servers, consumes, parameters, requestBody, responses } = Described.parse(item[method]);
      const own = servers ?? Servers.parse(item['servers']);
      const shared = z.array(z.record(z.string(), z.unknown())).catch([]).parse(item['parameters']);
      const all = z
        .array(Parameter)
        .parse([...shared, ...parameters].map(deref))
        .filter(({ name }) => name !== apart);
      const content = requestBody?.content ?? {};
      const json = Object.keys(content).find((type) => type.startsWith('application/json'));
      const success = Object.keys(responses).find(
        (status) => status.startsWith('2') && responses[status]!.content?.['application/json'],
      );
      const fields = all.filter((one) => one.in === 'formData');
      return {
        method: method.toUpperCase(),
        ...(own?.[0] && { base: own[0].url }),
        path: pattern(path),
        query: named(all.filter((one) => one.in === 'query')),
        ...(fields.length > 0 && { form: named(fields), multipart: named(fields) }),
        ...(consumes.includes('application/json') && { judge: judgeOfFields(fields) }),
        ...formsOf(content),
        ...(json && { judge: judge(asked, pointer('paths', path, method, 'requestBody', 'content', json, 'schema')) }),
        ...(success && {
          judgeAnswer: judge(
            answered,
            pointer('paths', path, method, 'responses', success, 'content', 'application/json', 'schema'),
          ),
        }),
      };
    }),
  );
}

/**
 * The document without what JSON Schema does not know: `nullable` without a type, bounds that are true. `partial`: without
 * the fields that must be there, since an answer in a fixture has those that are read.
 */
function plain(value: unknown, partial: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => plain(one, partial));
  if (typeof value !== 'object' || value === null) return value;
  const { nullable, ...kept } = value as Schema;
  const dropped = Object.entries(kept).filter(
    ([key, of]) =>
      !(key.startsWith('exclusive') && typeof of === 'boolean') &&
      !(partial && key === 'required' && Array.isArray(of)) &&
      key !== 'discriminator',
  );
  // without them a body may be of several kinds at once
  const nameOf = (key: string) => (partial && key === 'oneOf' ? 'anyOf' : key);
  const schema = Object.fromEntries(dropped.map(([key, of]) => [nameOf(key), plain(of, partial)]));
  return nullable === true ? { anyOf: [schema, { type: 'null' }] } : schema;
}

const DiscoveryMethod = z.object({
  httpMethod: z.string(),
  flatPath: z.string().optional(),
  path: z.string(),
  request: z.unknown().optional(),
  parameters: z.record(z.string(), z.object({ location: z.string(), required: z.boolean().optional() })).default({}),
  mediaUpload: z.object({ protocols: z.object({ simple: z.object({ path: z.string() }) }) }).optional(),
});
const Discovery = z.object({
  parameters: z.record(z.string(), z.unknown()).default({}),
  methods: z.record(z.string(), DiscoveryMethod).default({}),
});
/** A document of Google's discovery service. Its schemas say nothing of what must be there: bodies are not judged. */
export function discovery(file: string): Operation[] | undefined {
  const document = read(file);
  if (document === undefined) return undefined;
  const common = Object.keys(Discovery.parse(document).parameters).map((name) => ({ name }));
  const operation = ({ httpMethod: method, request, parameters, ...one }: z.output<typeof DiscoveryMethod>) => {
    const own = Object.entries(parameters).filter(([, { location }]) => location === 'query');
    const query = named([...own.map(([name, { required }]) => ({ name, required })), ...common]);
    const judge = () => [];
    const path = pattern(`/${one.flatPath ?? one.path}`.replace(/\{\+[^}]+\}/g, '{any}'));
    const upload = one.mediaUpload && pattern(one.mediaUpload.protocols.simple.path);
    return [
      { method, path, query, ...(request !== undefined && { judge }) },
      ...(upload ? [{ method, path: upload, query, judge }] : []),
    ];
  };
  const within = (resource: unknown): Operation[] => [
    ...Object.values(Discovery.parse(resource).methods).flatMap(operation),
    ...Object.values((resource as { resources?: object }).resources ?? {}).flatMap(within),
  ];
  return within(document);
}

const Members = z.record(z.string(), z.object({ traits: z.record(z.string(), z.unknown()).default({}) })).default({});
const Shapes = z.object({
  shapes: z.record(
    z.string(),
    z.object({
      type: z.string(),
      traits: z.record(z.string(), z.unknown()).default({}),
      input: z.object({ target: z.string() }).optional(),
      members: z.unknown().optional(),
    }),
  ),
});
/** A model of Smithy. Bodies are not judged. */
export function smithy(file: string): Operation[] | undefined {
  const document = read(file);
  if (document === undefined) return undefined;
  const { shapes } = Shapes.parse(document);
  return Object.values(shapes).flatMap(({ type, traits, input }) => {
    const http = z.object({ method: z.string(), uri: z.string() }).safeParse(traits['smithy.api#http']).data;
    if (type !== 'operation' || !http) return [];
    const members = Object.values(Members.parse(input && shapes[input.target]?.members));
    const query = members.flatMap((one) => {
      const name = one.traits['smithy.api#httpQuery'];
      return typeof name === 'string' ? [{ name, required: 'smithy.api#required' in one.traits }] : [];
    });
    const path = pattern(http.uri.replace(/\{(\w+)\+\}/g, '{$1}'));
    return [{ method: http.method, path, query: named(query), ...(http.method !== 'GET' && { judge: () => [] }) }];
  });
}

const VkMethods = z.object({
  methods: z.array(
    z.object({
      name: z.string(),
      parameters: z.array(z.object({ name: z.string(), required: z.boolean().optional() })).default([]),
    }),
  ),
});
/** Sections of VK's schema; each method is asked by GET or POST. */
export function vkSchema(sections: readonly string[]): Operation[] | undefined {
  const documents = sections.map((section) => read(`vk/${section}/methods.json`));
  if (documents.includes(undefined)) return undefined;
  return documents.flatMap((document) =>
    VkMethods.parse(document).methods.flatMap(({ name, parameters }) => {
      const fields = named([...parameters, { name: 'v' }]);
      const path = pattern(`/${name}`);
      return [
        { method: 'GET', path, query: fields },
        { method: 'POST', path, query: NONE, form: fields },
      ];
    }),
  );
}

const BotMethods = z.object({
  methods: z.record(
    z.string(),
    z.object({ fields: z.array(z.object({ name: z.string(), required: z.boolean().optional() })).default([]) }),
  ),
});
/** The methods of Telegram's Bot API below `/bot<token>`; parameters as JSON or as a form. */
export function botApi(file: string): Operation[] | undefined {
  const document = read(file);
  if (document === undefined) return undefined;
  return Object.entries(BotMethods.parse(document).methods).flatMap(([name, { fields }]) => {
    const known = named(fields);
    const path = pattern(`/{bot}/${name}`);
    const judge = (body: unknown) => namesOf(known, Object.keys(body as object), 'field');
    return [
      { method: 'GET', path, query: known },
      { method: 'POST', path, query: NONE, form: known, multipart: known, judge },
    ];
  });
}

export const namesOf = ({ known, required }: Named, names: readonly string[], what: string): string[] => [
  ...names.filter((name) => !known.has(name)).map((name) => `unknown ${what} ${name}`),
  ...required.filter((name) => !names.includes(name)).map((name) => `missing ${what} ${name}`),
];

interface Request {
  method: string;
  url: string;
  json?: unknown;
  form?: object;
  multipart?: object;
  text?: unknown;
}
/** What a description has against a request below `base`, and against the answer to it. */
export function faultsOf(
  operations: readonly Operation[],
  base: string,
  asks: Request,
  answer: { status?: number; json?: unknown },
): string[] {
  const { origin, pathname, searchParams } = new URL(asks.url);
  const below = (server: string) => {
    const root = server.replace(/\/$/, '');
    return `${origin}${pathname}`.startsWith(`${root}/`) ? (origin + pathname).slice(root.length) : undefined;
  };
  const told = `${asks.method} ${below(base) ?? asks.url}`;
  const found = operations.find((one) => one.method === asks.method && one.path.test(below(one.base ?? base) ?? ''));
  if (!found) return [`${told}: there is no such operation`];
  const { query, judgeQuery, judge, judgeAnswer } = found;
  const isEmpty = asks.json === undefined && asks.text === undefined;
  const sent = asks.form ?? asks.multipart ?? (isEmpty ? {} : undefined);
  const form = asks.multipart ? found.multipart : found.form;
  const { status = 200, json } = answer;
  return [
    ...namesOf(query, [...new Set(searchParams.keys())], 'parameter'),
    ...(judgeQuery?.(searchParams) ?? []),
    ...(form && sent ? namesOf(form, Object.keys(sent), 'field') : []),
    ...(asks.json !== undefined && judge ? judge(JSON.parse(JSON.stringify(asks.json))) : []),
    ...(asks.json !== undefined && !judge ? ['there is no such body'] : []),
    ...(status >= 200 && status < 300 && json !== undefined && judgeAnswer
      ? judgeAnswer(JSON.parse(JSON.stringify(json))).map((one) => `answer ${one}`)
      : []),
  ].map((fault) => `${told}: ${fault}`);
}
