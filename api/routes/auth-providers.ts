import { z } from 'zod';
import { AppError, randomBase64url } from '../../src/platform/kernel/index.ts';
import { mobileLink, presentOffered } from '../../src/people/federated-login/index.ts';
import { device, logIn, ReturnedTokens } from '../http/credentials.ts';
import { loginCookie, setLoginCookie } from '../http/login-cookie.ts';
import { route } from '../http/route.ts';

const line = z.string().max(4_096);
const wantsJson = (accept = '') => accept.includes('application/json');

export default [
  route({
    method: 'get',
    path: '/auth/providers',
    summary: 'The ways to log in that are offered here.',
    auth: ['none'],
    answer: z.array(z.strictObject({ identifier: z.string(), name: z.string(), type: z.string() })),
    handle: ({ ctx }) => ctx.login.list(),
    present: (offered) => offered.map(presentOffered),
  }),

  route({
    method: 'get',
    path: '/auth/oauth/:provider',
    summary: "The address of a login provider's consent page, as text, or as JSON where that is accepted; binds the login to this browser for ten minutes.",
    auth: ['none'],
    limit: '60/minute',
    query: z.object({ redirect_uri: z.string().max(2_048).optional() }),
    output: 'text',
    answer: z.string(),
    async handle({ ctx, params, query, request, reply }) {
      const browser = loginCookie(request) ?? randomBase64url(32);
      const url = await ctx.login.begin(params['provider']!, { redirectUri: query.redirect_uri, browser });
      setLoginCookie(reply, browser);
      if (!wantsJson(request.headers['accept'])) return url;
      reply.header('content-type', 'application/json; charset=utf-8');
      return JSON.stringify({ url });
    },
    present: (text) => text,
  }),

  route({
    method: 'post',
    path: '/auth/oauth/:provider/exists',
    summary: 'Ends a login by a provider: logs in who has a user here, and gives anybody else a token to register with.',
    auth: ['none'],
    limit: '30/minute',
    body: z.strictObject({
      code: z.string().min(1).max(16_384),
      state: z.string().min(1).max(512),
      redirect_uri: z.string().max(2_048).optional(),
      iss: z.string().max(2_048).optional(),
      returnToken: z.boolean().optional(),
    }),
    answer: z.union([z.object({ login: z.literal(true) }).extend(ReturnedTokens.shape), z.strictObject({ token: z.string() })]),
    async handle({ ctx, params, body: { code, state, redirect_uri: redirectUri, iss, returnToken = false }, request, reply }) {
      const browser = loginCookie(request) ?? '';
      const completed = await ctx.login.complete(params['provider']!, { code, state, redirectUri, iss }, browser, device(request)).catch((error: unknown) => {
        if (error instanceof AppError) ctx.events.loginRefused({ ip: request.ip, code: error.code });
        throw error;
      });
      if ('token' in completed) return { token: completed.token };
      setLoginCookie(reply, null);
      return { login: true as const, ...logIn(reply, completed.credentials, { returnToken, notSecured: ctx.config.notSecured }) };
    },
    present: (answer) => answer,
  }),

  route({
    method: 'get',
    path: '/auth/nonce/:provider',
    summary: 'A nonce for a wallet to sign; with an address the whole message.',
    auth: ['none'],
    limit: '60/minute',
    query: z.object({ address: z.string().max(128).optional() }),
    answer: z.strictObject({ nonce: z.string(), message: z.string().optional() }),
    async handle({ ctx, params, query, request, reply }) {
      const browser = loginCookie(request) ?? randomBase64url(32);
      const challenge = await ctx.login.challenge(params['provider']!, { address: query.address, browser });
      setLoginCookie(reply, browser);
      return challenge;
    },
    present: (challenge) => challenge,
  }),

  route({
    method: 'get',
    path: '/auth/oauth-mobile-callback',
    summary: 'Leads from a consent page into the mobile application, with what it may be told and nothing else.',
    auth: ['none'],
    query: z.object({ code: line.optional(), state: line.optional(), error: line.optional(), error_description: line.optional(), provider: line.optional() }),
    output: 'text',
    answer: z.string(),
    async handle({ ctx, query: { code, state, error, error_description, provider }, reply }) {
      reply.status(302);
      reply.header('location', mobileLink(ctx.config.http.mobileAppScheme, { code, state, error, error_description, provider }));
      reply.header('cache-control', 'no-store');
      return '';
    },
    present: (text) => text,
  }),
];
