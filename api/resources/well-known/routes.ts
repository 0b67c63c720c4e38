import { z } from 'zod';
import { notFound } from '../../../src/platform/kernel/index.ts';
import { authorizationServer, protectedResource, type Surface, SURFACES } from '../../../src/oauth-server/index.ts';
import type { Config } from '../../../src/platform/config/index.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('config');

const strings = z.array(z.string());
const AuthorizationServer = z.strictObject({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: z.string(),
  revocation_endpoint: z.string(),
  response_types_supported: strings,
  grant_types_supported: strings,
  code_challenge_methods_supported: strings,
  token_endpoint_auth_methods_supported: strings,
  scopes_supported: strings,
  authorization_response_iss_parameter_supported: z.literal(true),
  client_id_metadata_document_supported: z.literal(true),
});
const ProtectedResource = z.strictObject({
  resource: z.string(),
  authorization_servers: strings,
  scopes_supported: strings,
  bearer_methods_supported: strings,
});
/**
 * The path below which a proxy publishes this service: its own by the settings, and `/api`, which is always there (S1).
 */
function isPublicPath(path: string, backendUrl: string): boolean {
  return path === 'api' || `/${path}` === new URL(backendUrl).pathname;
}

const authorizationServerMetadata = {
  method: 'get',
  summary: 'Get the authorization server metadata (RFC 8414)',
  auth: ['none'],
  answer: AuthorizationServer,
  present: ({ backendUrl, frontendUrl, tokenEndpointUrl }: Config['http']) =>
    authorizationServer({ backendUrl, frontendUrl, tokenBaseUrl: tokenEndpointUrl }),
} as const;

/** The surface of a path; there is no document of anything else, or clients would ask for OAuth where a key is in the address. */
function surfaceAt(name: string): Surface {
  const surface = SURFACES.find((one) => one === name);
  if (!surface) throw notFound();
  return surface;
}
const protectedResourceMetadata = {
  method: 'get',
  summary: 'Get the metadata of an MCP endpoint (RFC 9728)',
  auth: ['none'],
  answer: ProtectedResource,
  present: (document: z.input<typeof ProtectedResource>) => document,
} as const;

export default [
  route({
    method: 'get',
    path: '/.well-known/apps-challenge',
    summary: 'Get the app store domain challenge',
    description: 'As plain text.',
    auth: ['none'],
    output: 'text',
    answer: z.string(),
    async handle({ rooms: { config } }) {
      if (!config.http.appsChallenge) throw notFound();
      return config.http.appsChallenge;
    },
    present: (challenge) => challenge,
  }),

  // Clients ask for the document of an issuer with a path by both rules that are about: path in front, and path
  // appended (RFC 8414 3.1).
  route({
    ...authorizationServerMetadata,
    path: '/.well-known/oauth-authorization-server',
    handle: async ({ rooms }) => rooms.config.http,
  }),
  route({
    ...authorizationServerMetadata,
    path: '/.well-known/oauth-authorization-server/:path',
    async handle({ rooms, params }) {
      const { http } = rooms.config;
      if (!isPublicPath(params.path, http.backendUrl)) throw notFound();
      return http;
    },
  }),

  route({
    ...protectedResourceMetadata,
    path: '/.well-known/oauth-protected-resource/:surface',
    handle: async ({ rooms, params }) =>
      protectedResource(rooms.config.http.backendUrl, surfaceAt(params.surface), false),
  }),
  route({
    ...protectedResourceMetadata,
    path: '/.well-known/oauth-protected-resource/:path/:surface',
    async handle({ rooms, params }) {
      const { backendUrl } = rooms.config.http;
      const surface = surfaceAt(params.surface);
      if (!isPublicPath(params.path, backendUrl)) throw notFound();
      return protectedResource(backendUrl, surface, params.path === 'api');
    },
  }),
];
