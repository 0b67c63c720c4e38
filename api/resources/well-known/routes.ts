import { z } from 'zod';
import { notFound } from '../../../src/platform/kernel/index.ts';
import { authorizationServer } from '../../../src/oauth-server/index.ts';
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
];
