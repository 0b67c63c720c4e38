import type { AnyRoute } from '../route.ts';
import { HEADERS } from './headers.ts';
import { operationIds } from './operation-ids.ts';
import { operationOf } from './operation.ts';
import { describeRefusals, refusalsOf } from './refusals.ts';
import { type Json, openSchemas, type Shapes } from './schemas.ts';
import { describeTags, tagOf } from './tags.ts';
import { describeWebhooks, type WebhookEvent } from './webhooks.ts';

/** What a document is made of, beside the routes. */
export interface Described {
  /** Named schemas. */
  shapes: Shapes;
  /** What webhooks are told. */
  events: readonly WebhookEvent[];
  /** The tools of agents (`x-mcp`). */
  mcp?: Json;
  /** Only routes below it. */
  prefix?: string;
  version?: string;
}

const SECURITY_SCHEMES = {
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'auth',
    description:
      'With the header `x-csrf-token` equal to the cookie `csrf_token` on POST, PUT, PATCH and DELETE. Where the ' +
      'instance prefixes its cookies, names begin with `__Host-` or `__Secure-`.',
  },
  sessionHeader: { type: 'apiKey', in: 'header', name: 'auth', description: 'The session of a login.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'Authorization', description: '`pm_live_…`, raw or after `Bearer`.' },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token (`pos_…`) of this authorization server.',
  },
};

const ABOUT =
  'Publishes to social networks on time, once, and says what happened.\n\n' +
  'Bodies are JSON; a field that a route does not know is refused by its name. Times are ISO 8601 in UTC. A request acts ' +
  'for one organization, that of its credential: ids of others are unknown. A POST that creates takes an ' +
  '`Idempotency-Key`. Every answer says how many requests are left; after 429 wait for `Retry-After` seconds. Lists ' +
  'with an `ETag` answer 304 to `If-None-Match` while they are the same.';

/** The headers that something in the document refers to: those of no answer are left out. */
function usedHeaders(parts: Json): Json {
  const text = JSON.stringify(parts);
  return Object.fromEntries(
    Object.entries(HEADERS).filter(([name]) => text.includes(`"#/components/headers/${name}"`)),
  );
}

function usedSchemes(shown: readonly AnyRoute[]): Json {
  const kinds = new Set(shown.flatMap(({ auth }) => auth));
  const isSession = kinds.has('session') || kinds.has('super-admin');
  const { sessionCookie, sessionHeader, apiKey, accessToken } = SECURITY_SCHEMES;
  return {
    ...(isSession && { sessionCookie, sessionHeader }),
    ...(kinds.has('api-key') && { apiKey }),
    ...(kinds.has('oauth') && { accessToken }),
  };
}

/** The OpenAPI 3.1 document of the routes below a prefix, in the order of their paths (S267). */
export function openApi(
  routes: readonly AnyRoute[],
  { shapes, events, mcp, prefix = '/', version = '0' }: Described,
): Json {
  const schemas = openSchemas(shapes);
  const writer = { schemas, ids: operationIds(routes) };
  const paths: Record<string, Json> = {};
  const shown = routes
    .filter((route) => route.path.startsWith(prefix))
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  for (const route of shown)
    (paths[route.path.replace(/:(\w+)/g, '{$1}')] ??= {})[route.method] = operationOf(route, writer);
  const webhooks = describeWebhooks(events, schemas);
  const inOAuth = shown.some(({ errors }) => errors !== undefined);
  const statuses = new Set(shown.filter(({ errors }) => !errors).flatMap(refusalsOf));
  const refusals = describeRefusals(
    [...statuses].toSorted((a, b) => a - b),
    inOAuth,
  );
  for (const [name, schema] of Object.entries(refusals.schemas)) schemas.add(name, schema as Json);
  return {
    openapi: '3.1.0',
    info: {
      title: prefix === '/' ? 'Rookery' : 'Rookery public API',
      version,
      description: ABOUT,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: describeTags(new Set([...shown.map(tagOf), 'Webhooks'])),
    paths,
    webhooks,
    ...(mcp && { 'x-mcp': mcp }),
    components: {
      schemas: schemas.components(),
      responses: refusals.responses,
      headers: usedHeaders({ paths, responses: refusals.responses }),
      securitySchemes: usedSchemes(shown),
    },
  };
}
