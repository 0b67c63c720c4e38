import { z } from 'zod';
import { AppError, randomBase64url } from '../../../src/platform/kernel/index.ts';
import { device, logIn, ReturnedTokens } from '../../http/credentials.ts';
import { loginCookie, setLoginCookie } from '../../http/login-cookie.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('config', 'events', 'login');

const wantsJson = (accept = '') => accept.includes('application/json');

export default [
  route({
    method: 'get',
    path: '/auth/oauth/:provider',
    summary: 'Start a login at a provider',
    description:
      'Answers the address of the consent page, as text, or as JSON where `Accept` asks for it. The login is bound to this browser for ten minutes.',
    auth: ['none'],
    limit: '60/minute',
    query: z.object({ redirect_uri: z.string().max(2_048).optional() }),
    output: 'text',
    answer: z.string(),
    async handle({ rooms, params, query, request, reply }) {
      const browser = loginCookie(request) ?? randomBase64url(32);
      const url = await rooms.login.begin(params.provider, { redirectUri: query.redirect_uri, browser });
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
    summary: 'Complete a login at a provider',
    description: 'Logs in a person who has a user here, and gives anybody else a token to register with.',
    auth: ['none'],
    limit: '30/minute',
    body: z.strictObject({
      code: z.string().min(1).max(16_384),
      state: z.string().min(1).max(512),
      redirect_uri: z.string().max(2_048).optional(),
      iss: z.string().max(2_048).optional(),
      returnToken: z.boolean().optional(),
    }),
    answer: z.union([
      z.object({ login: z.literal(true) }).extend(ReturnedTokens.shape),
      z.strictObject({ token: z.string() }),
    ]),
    async handle({
      rooms,
      params,
      body: { code, state, redirect_uri: redirectUri, iss, returnToken = false },
      request,
      reply,
    }) {
      const browser = loginCookie(request) ?? '';
      const completed = await rooms.login
        .complete(params.provider, { code, state, redirectUri, iss }, browser, device(request))
        .catch((error: unknown) => {
          if (error instanceof AppError) rooms.events.loginRefused({ ip: request.ip, code: error.code });
          throw error;
        });
      if ('token' in completed) return { token: completed.token };
      setLoginCookie(reply, null);
      return {
        login: true as const,
        ...logIn(reply, completed.credentials, { returnToken, notSecured: rooms.config.notSecured }),
      };
    },
    present: (answer) => answer,
  }),
];
