import { z } from 'zod';
import { ClientMetadata, OAuthError, RegisteredClient } from '../../../src/oauth-server/index.ts';
import { consentPage } from '../../console/pages.ts';
import { findRepeated, readParameters } from '../../http/body.ts';
import { sessionActor } from '../../http/audit-actor.ts';
import { type Reply, type Request, routesOf } from '../../http/route.ts';
import { AuthorizationRequest, presentGrant, presentRequest, TokenPair } from './shape.ts';

const route = routesOf('config', 'oauth', 'payments');

const AuthorizationParameters = z
  .looseObject({
    client_id: z.string(),
    redirect_uri: z.string(),
    response_type: z.string(),
    state: z.string(),
    scope: z.string(),
    code_challenge: z.string(),
    code_challenge_method: z.string(),
    resource: z.string(),
  })
  .partial();

const credentials = { client_id: z.string().optional(), client_secret: z.string().optional() };
const LIMIT = 64_000;

const noStore = (reply: Reply): void => {
  reply.header('Cache-Control', 'no-store');
  reply.header('Pragma', 'no-cache');
};
/** A parameter that comes twice says nothing certain (RFC 6749 3.1). */
function refuseRepeated({ url }: Request): void {
  const twice = findRepeated(readParameters(searchOf(url)));
  if (twice !== undefined) throw new OAuthError('invalid_request', `${twice}: sent twice`);
}
const searchOf = (url: string): string => url.split('?').slice(1).join('?');
const isRefusal = (error: unknown): error is OAuthError => error instanceof OAuthError;

export default [
  route({
    method: 'get',
    path: '/oauth/authorize',
    summary: 'Get an authorization request for consent (RFC 6749)',
    description: 'A browser that navigates here is led to the consent screen.',
    auth: ['none'],
    limit: '60/minute',
    errors: 'oauth',
    query: AuthorizationParameters,
    answer: AuthorizationRequest,
    async handle({ rooms: { oauth, config }, query, request }) {
      refuseRepeated(request);
      return {
        judged: oauth.consent.judge(query, await oauth.consent.destination(query)),
        backendUrl: config.http.backendUrl,
      };
    },
    present: ({ judged, backendUrl }) => presentRequest(judged, backendUrl),
    async page({ rooms: { oauth, config }, query, request, reply }) {
      refuseRepeated(request);
      const to = await oauth.consent.destination(query);
      try {
        oauth.consent.judge(query, to);
      } catch (error) {
        // Anybody may register a client: without a person's consent nobody is led to an address of its choice (RFC 9700
        // 4.11.2).
        if (!isRefusal(error) || to.client.orgId === null) throw error;
        return redirect(reply, oauth.consent.refuse(query, to, error));
      }
      return (
        consentPage(config.http, request, reply) ??
        redirect(reply, `${config.http.frontendUrl.replace(/\/$/, '')}/oauth/authorize?${searchOf(request.url)}`)
      );
    },
  }),

  route({
    method: 'post',
    path: '/oauth/authorize',
    summary: 'Approve or deny an authorization request (RFC 6749)',
    description: 'The answer says where the browser goes.',
    auth: ['session'],
    impersonation: 'refused',
    bodyLimit: LIMIT,
    body: AuthorizationParameters.extend({ action: z.enum(['approve', 'deny']) }),
    answer: z.object({ redirect: z.string() }),
    async handle(call) {
      const { consent } = call.rooms.oauth;
      const { action, ...request } = call.body;
      const to = await consent.destination(request);
      try {
        const judged = consent.judge(request, to);
        if (action === 'deny') throw new OAuthError('access_denied', 'The user denied the request');
        return await consent.approve(call.principal.orgId, sessionActor(call), judged);
      } catch (error) {
        if (isRefusal(error) && (error.error === 'access_denied' || error.error === 'invalid_scope'))
          return consent.refuse(request, to, error);
        throw error;
      }
    },
    present: (to) => ({ redirect: to }),
  }),

  route({
    method: 'post',
    path: '/oauth/token',
    summary: 'Exchange a grant for tokens (RFC 6749)',
    description: 'The grant is an authorization code or a refresh token.',
    auth: ['none'],
    limit: '20/minute',
    errors: 'oauth',
    input: 'json-or-form',
    bodyLimit: LIMIT,
    body: z.looseObject({
      grant_type: z.string().optional(),
      code: z.string().optional(),
      redirect_uri: z.string().optional(),
      code_verifier: z.string().optional(),
      refresh_token: z.string().optional(),
      scope: z.string().optional(),
      resource: z.string().optional(),
      ...credentials,
    }),
    answer: TokenPair,
    async handle({ rooms, body, request, reply }) {
      noStore(reply);
      const grant = await rooms.oauth.tokens.grant(body, claimOf(body, request), request.ip);
      return { grant, customerId: await rooms.payments.customer(grant.orgId) };
    },
    present: ({ grant, customerId }) => presentGrant(grant, customerId ?? null),
  }),

  route({
    method: 'post',
    path: '/oauth/revoke',
    summary: 'Revoke a token (RFC 7009)',
    description: 'An unknown token is answered alike.',
    auth: ['none'],
    limit: '60/minute',
    errors: 'oauth',
    input: 'json-or-form',
    bodyLimit: LIMIT,
    body: z.looseObject({ token: z.string().min(1), token_type_hint: z.string().optional(), ...credentials }),
    answer: z.object({}),
    async handle({ rooms, body, request, reply }) {
      noStore(reply);
      await rooms.oauth.tokens.revoke(body.token, claimOf(body, request));
    },
    present: () => ({}),
  }),

  route({
    method: 'post',
    path: '/oauth/register',
    summary: 'Register an OAuth client dynamically (RFC 7591)',
    description: 'For clients that meet this service for the first time.',
    auth: ['none'],
    limit: '20/hour',
    errors: 'registration',
    creates: true,
    bodyLimit: LIMIT,
    body: ClientMetadata,
    answer: RegisteredClient,
    async handle({ rooms, body, reply }) {
      noStore(reply);
      return rooms.oauth.register(body);
    },
    present: (client) => client,
  }),
];

function redirect(reply: Reply, to: string): string {
  reply.status(302);
  reply.header('Location', to);
  noStore(reply);
  return '';
}

const claimOf = (
  {
    client_id: clientId,
    client_secret: clientSecret,
  }: { client_id?: string | undefined; client_secret?: string | undefined },
  { headers }: Request,
) => ({
  clientId,
  clientSecret,
  authorization: headers['authorization'],
});
