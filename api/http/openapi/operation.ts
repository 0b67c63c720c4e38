import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { scopeFor } from '../../../src/people/access/index.ts';
import { successStatus } from '../ladder.ts';
import type { AnyRoute, AuthKind } from '../route.ts';
import { exampleOf } from './examples.ts';
import { headersOfAccepted, headersOfSuccess } from './headers.ts';
import { refusalsOf } from './refusals.ts';
import { clientOf, commandOf, curlOf } from './samples.ts';
import type { Json, Schemas } from './schemas.ts';
import { tagOf } from './tags.ts';

const SECURITY: Record<Exclude<AuthKind, 'none'>, readonly string[]> = {
  session: ['sessionCookie', 'sessionHeader'],
  'super-admin': ['sessionCookie', 'sessionHeader'],
  'api-key': ['apiKey'],
  oauth: ['accessToken'],
};

/** How a document writes its operations. */
interface Writer {
  schemas: Schemas;
  ids: ReadonlyMap<AnyRoute, string>;
}

const isSchema = (accepted: AnyRoute['accepted']): accepted is z.ZodType => typeof accepted === 'object';

const isRequired = (schema: Json, name: string): boolean =>
  Array.isArray(schema['required']) && schema['required'].includes(name);

const IN_HEADERS = {
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'A repeated request with the same key and body gets the first answer, for 24 hours.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: 'spring-campaign-1',
  },
  prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    description: 'With `respond-async` it is not waited for: 202 with the id of the job (RFC 7240).',
    schema: { type: 'string' },
    example: 'respond-async',
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The `ETag` of an answer before: 304 while it is still the same.',
    schema: { type: 'string' },
    example: 'W/"9f86d081884c7d659a2feaa0c55ad015"',
  },
};

/** The name of an example stands for its parameter; an id in a path is one. */
function parametersOf({ path, query, idempotent, accepted, revision }: AnyRoute, { schemas }: Writer): Json[] {
  const withExample = (name: string, schema: Json) =>
    exampleOf(schema, schemas.components(), { io: 'input', name }) as string;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    const schema = { type: 'string' };
    return { name, in: 'path', required: true, schema, example: withExample(name!, schema) };
  });
  const asked = query ? schemas.queryOf(query as z.ZodType) : {};
  const inQuery = Object.entries((asked['properties'] ?? {}) as Record<string, Json>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: isRequired(asked, name),
      ...(description !== undefined && { description }),
      schema,
    }),
  );
  return [
    ...inPath,
    ...inQuery,
    ...(idempotent ? [IN_HEADERS.idempotencyKey] : []),
    ...(isSchema(accepted) ? [IN_HEADERS.prefer] : []),
    ...(revision ? [IN_HEADERS.ifNoneMatch] : []),
  ];
}

function bodyOf(route: AnyRoute, { schemas }: Writer): { json?: unknown; requestBody?: Json } {
  if (route.input === 'stream')
    return {
      requestBody: {
        required: true,
        content: {
          'multipart/form-data': {
            schema: {
              type: 'object',
              properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
            },
          },
        },
      },
    };
  if (!route.body) return {};
  const body = route.body as z.ZodType;
  const schema = schemas.schemaOf(body, 'input');
  // the library leaves those of a schema out that makes something else of what is sent
  const [given] = (body.meta()?.['examples'] ?? []) as unknown[];
  const json = given ?? exampleOf(schema, schemas.components(), { io: 'input' });
  const content = { schema, example: json };
  return {
    json,
    requestBody: {
      required: true,
      content: {
        'application/json': content,
        ...(route.input === 'json-or-form' && { 'application/x-www-form-urlencoded': content }),
      },
    },
  };
}

/** The type of an answer that is not JSON. */
const RAW_TYPES = { text: 'text/plain', bytes: 'application/octet-stream', json: 'application/json' } as const;

/** What comes with the usual success: of a union all but what comes with 202. */
function usualAnswerOf({ answer, accepted }: AnyRoute): z.ZodType {
  if (!isSchema(accepted)) return answer as z.ZodType;
  const [first, ...others] = (answer as z.ZodUnion<readonly z.ZodType[]>).options.filter((one) => one !== accepted);
  return others.length === 0 ? first! : z.union([first!, ...others]);
}

function answerOf(route: AnyRoute, answer: z.ZodType, { schemas }: Writer): Json {
  const { output = 'json' } = route;
  const type = route.mediaType ?? (route.page ? 'text/html' : RAW_TYPES[output]);
  const schema = output === 'json' ? schemas.schemaOf(answer, 'output') : { type: 'string' };
  const example = output === 'json' && exampleOf(schema, schemas.components(), { io: 'output' });
  return {
    [output === 'json' ? RAW_TYPES.json : type]: { schema, ...(example !== false && { example }) },
    ...(route.events && { 'text/event-stream': { schema: { type: 'string' } } }),
    ...(route.csv && { 'text/csv': { schema: { type: 'string' } } }),
  };
}

function responsesOf(route: AnyRoute, writer: Writer): Json {
  const status = successStatus(route);
  return {
    [status]: {
      description: STATUS_CODES[status],
      headers: headersOfSuccess(route),
      content: answerOf(route, usualAnswerOf(route), writer),
    },
    ...(isSchema(route.accepted) && {
      202: {
        description: STATUS_CODES[202],
        headers: headersOfAccepted(route),
        content: answerOf(route, route.accepted, writer),
      },
    }),
    ...(route.revision && { 304: { description: STATUS_CODES[304], headers: headersOfSuccess(route) } }),
    ...Object.fromEntries(
      refusalsOf(route).map((code) => [
        code,
        { $ref: `#/components/responses/${route.errors ? 'OAuthError' : `Error${code}`}` },
      ]),
    ),
    // such as 404 for an id in a body, 502 of a provider, 503 of a service that ends
    default: { $ref: `#/components/responses/${route.errors ? 'OAuthError' : 'Error'}` },
  };
}

const securityOf = ({ auth, method }: AnyRoute): Json[] =>
  auth.includes('none')
    ? []
    : auth
        .flatMap((kind) => SECURITY[kind as Exclude<AuthKind, 'none'>])
        .map((scheme) => ({ [scheme]: scheme === 'accessToken' ? [scopeFor(method)] : [] }));

/** One route as an operation of the document. */
export function operationOf(route: AnyRoute, writer: Writer): Json {
  const { json, requestBody } = bodyOf(route, writer);
  const parameters = parametersOf(route, writer);
  const command = commandOf(route, { parameters });
  return {
    operationId: writer.ids.get(route),
    summary: route.summary,
    ...(route.description && { description: route.description }),
    tags: [tagOf(route)],
    ...(route.deprecated && { deprecated: true }),
    ...(route.permission && { 'x-permission': route.permission }),
    ...(route.planLimit && { 'x-limit': route.planLimit }),
    parameters,
    ...(requestBody && { requestBody }),
    responses: responsesOf(route, writer),
    security: securityOf(route),
    ...(route.path.startsWith('/public/v1/') && {
      'x-codeSamples': [
        { lang: 'Shell', label: 'curl', source: curlOf(route, { json, parameters }) },
        { lang: 'TypeScript', label: 'Client', source: clientOf(route, { json, parameters }) },
        ...(command === undefined ? [] : [{ lang: 'Shell', label: 'Command line', source: command }]),
      ],
    }),
  };
}
