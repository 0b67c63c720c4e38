import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { scopeFor } from '../../src/people/access/index.ts';
import { STATUS } from '../../src/platform/kernel/index.ts';
import { successStatus } from './ladder.ts';
import type { AnyRoute, AuthKind } from './route.ts';

type Json = Record<string, unknown>;

const SECURITY: Record<Exclude<AuthKind, 'none'>, readonly string[]> = {
  session: ['sessionCookie', 'sessionHeader'],
  'super-admin': ['sessionCookie', 'sessionHeader'],
  'api-key': ['apiKey'],
  oauth: ['accessToken'],
};

/**
 * A schema as JSON Schema 2020-12; what has no form there (dates made from text, refinements) is described by what is
 * sent.
 */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const json: Json = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) =>
      void (zodSchema instanceof z.ZodDate && Object.assign(jsonSchema, { type: 'string', format: 'date-time' })),
  });
  delete json['$schema'];
  return json;
}

const isRequired = (schema: Json, name: string): boolean =>
  Array.isArray(schema['required']) && schema['required'].includes(name);

function parameters({ path, query, idempotent }: AnyRoute): Json[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const asked = query ? schemaOf(query, 'input') : {};
  const inQuery = Object.entries((asked['properties'] ?? {}) as Json).map(([name, schema]) => ({
    name,
    in: 'query',
    required: isRequired(asked, name),
    schema,
  }));
  const key = idempotent
    ? [
        {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          schema: { type: 'string', minLength: 1, maxLength: 255 },
        },
      ]
    : [];
  return [...inPath, ...inQuery, ...key];
}

/** The refusals that a route declares by its shape, beside those that any request may meet. */
function refusals(route: AnyRoute): number[] {
  const open = route.auth.includes('none');
  return [
    400,
    429,
    500,
    ...(open ? [] : [401]),
    ...(route.planLimit ? [402] : []),
    ...(route.permission ||
    route.auth.includes('super-admin') ||
    (route.auth.includes('session') && route.method !== 'get')
      ? [403]
      : []),
    ...(route.path.includes(':') ? [404] : []),
    ...(route.idempotent ? [409, 422] : []),
    ...(route.body || route.input === 'stream' ? [413, 415] : []),
  ].toSorted((a, b) => a - b);
}

function requestBody(route: AnyRoute): Json | undefined {
  if (route.input === 'stream')
    return {
      required: true,
      content: {
        'multipart/form-data': {
          schema: { type: 'object', properties: { file: { type: 'string', contentEncoding: 'binary' } } },
        },
      },
    };
  if (!route.body) return undefined;
  const content = { schema: schemaOf(route.body, 'input') };
  return {
    required: true,
    content: {
      'application/json': content,
      ...(route.input === 'json-or-form' && { 'application/x-www-form-urlencoded': content }),
    },
  };
}

function operation(route: AnyRoute): Json {
  const type =
    route.output === 'text' ? 'text/plain' : route.output === 'bytes' ? 'application/octet-stream' : 'application/json';
  const body = requestBody(route);
  const status = successStatus(route);
  return {
    operationId: `${route.method}${route.path.replace(/[^A-Za-z0-9]+(\w)?/g, (_, letter: string | undefined) => (letter ?? '').toUpperCase())}`,
    summary: route.summary,
    ...(route.description && { description: route.description }),
    tags: [route.path.startsWith('/public/v1/') ? 'public' : route.path.split('/')[1]],
    ...(route.permission && { 'x-permission': route.permission }),
    ...(route.planLimit && { 'x-limit': route.planLimit }),
    parameters: parameters(route),
    ...(body && { requestBody: body }),
    responses: {
      [status]: {
        description: STATUS_CODES[status],
        content: {
          [type]: { schema: schemaOf(route.answer, 'output') },
          ...(route.events && { 'text/event-stream': { schema: { type: 'string' } } }),
        },
      },
      ...Object.fromEntries(
        refusals(route).map((code) => [code, { $ref: `#/components/responses/${route.errors ? 'oauth' : code}` }]),
      ),
    },
    security: route.auth.includes('none')
      ? []
      : route.auth
          .flatMap((kind) => SECURITY[kind as Exclude<AuthKind, 'none'>])
          .map((scheme) => ({ [scheme]: scheme === 'accessToken' ? [scopeFor(route.method)] : [] })),
  };
}

/** RFC 6749 5.2. */
const OAuthErrorSchema = {
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
};

const ErrorSchema = {
  type: 'object',
  required: ['statusCode', 'error', 'message', 'msg', 'code'],
  properties: {
    statusCode: { type: 'integer' },
    error: { type: 'string' },
    message: { type: 'string' },
    msg: { type: 'string' },
    code: { type: 'string', enum: Object.keys(STATUS) },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'message', 'rule'],
        properties: { field: { type: 'string' }, message: { type: 'string' }, rule: { type: 'string' } },
      },
    },
    url: { type: 'string' },
    limit: { type: 'string' },
    max: { type: 'integer' },
    retryAfter: { type: 'integer' },
    requestId: { type: 'string' },
  },
};

/** The OpenAPI 3.1 document of the routes below a prefix, in the order of their paths (S267). */
export function openApi(
  routes: readonly AnyRoute[],
  { prefix = '/', version = '0' }: { prefix?: string; version?: string } = {},
): Json {
  const paths: Record<string, Json> = {};
  const shown = routes
    .filter((route) => route.path.startsWith(prefix))
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  for (const route of shown) (paths[route.path.replace(/:(\w+)/g, '{$1}')] ??= {})[route.method] = operation(route);
  const inOAuth = shown.some(({ errors }) => errors !== undefined);
  const refusal = (description: string, schema: string) => ({
    description,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
  });
  const codes = [...new Set(shown.flatMap(refusals))].toSorted((a, b) => a - b);
  return {
    openapi: '3.1.0',
    info: { title: prefix === '/' ? 'Rookery' : 'Rookery public API', version },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Error: ErrorSchema, ...(inOAuth && { OAuthError: OAuthErrorSchema }) },
      responses: {
        ...Object.fromEntries(codes.map((code) => [code, refusal(STATUS_CODES[code]!, 'Error')])),
        ...(inOAuth && { oauth: refusal('A refusal in the words of OAuth', 'OAuthError') }),
      },
      securitySchemes: {
        sessionCookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'auth',
          description:
            'With the header `x-csrf-token` equal to the cookie `csrf_token` on POST, PUT, PATCH and DELETE.',
        },
        sessionHeader: { type: 'apiKey', in: 'header', name: 'auth' },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: '`pm_live_…`, raw or after `Bearer`.',
        },
        accessToken: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}
