import { z } from 'zod';
import { isTimezone } from '../../src/identity/index.ts';
import { AppError } from '../../src/kernel/index.ts';
import { device, logIn, logOut, ReturnedTokens } from '../http/credentials.ts';
import { nameText } from '../http/fields.ts';
import { route } from '../http/route.ts';
import { throttleBy } from '../http/throttle.ts';

const ACCOUNT_WINDOW_MS = 15 * 60_000;
const timezone = z.string().refine(isTimezone, 'not an IANA time zone');

const NewUser = z.strictObject({
  provider: z.string().refine((provider) => provider.toLowerCase() === 'local', 'no such login provider here'),
  email: z.email().max(254),
  password: z.string().min(8).max(128),
  company: nameText(3, 128),
  providerToken: z.string().optional(),
  name: nameText(0, 100).optional(),
  timezone: timezone.optional(),
  returnToken: z.boolean().optional(),
});
const Login = z.strictObject({
  provider: z.string(),
  email: z.string(),
  password: z.string().max(1024),
  providerToken: z.string().optional(),
  returnToken: z.boolean().optional(),
});

export default [
  route({
    method: 'post',
    path: '/auth/register',
    summary: 'Makes a user with an org of its own and logs in; the first user of an empty instance becomes super-admin.',
    auth: ['none'],
    limit: '5/minute',
    body: NewUser,
    answer: z.object({ register: z.literal(true) }).extend(ReturnedTokens.shape),
    async handle({ ctx, body: { email, password, company, name, timezone: zone, returnToken = false }, request, reply }) {
      const credentials = await ctx.auth.register({ email, password, company, name, timezone: zone }, device(request));
      ctx.events.userRegistered({ userId: credentials.userId });
      return logIn(reply, credentials, { returnToken, notSecured: ctx.config.notSecured });
    },
    present: (tokens) => ({ register: true as const, ...tokens }),
  }),

  route({
    method: 'post',
    path: '/auth/login',
    summary: 'Logs in with email and password.',
    auth: ['none'],
    limit: '10/minute',
    body: Login,
    answer: z.object({ login: z.literal(true) }).extend(ReturnedTokens.shape),
    async handle({ ctx, body: { returnToken = false, ...account }, request, reply }) {
      await throttleBy(ctx, `login|${ctx.auth.accountBucket(account.email)}`, 10, ACCOUNT_WINDOW_MS);
      const credentials = await ctx.auth.login(account, device(request)).catch((error: unknown) => {
        if (error instanceof AppError) ctx.events.loginRefused({ ip: request.ip, code: error.code });
        throw error;
      });
      return logIn(reply, credentials, { returnToken, notSecured: ctx.config.notSecured });
    },
    present: (tokens) => ({ login: true as const, ...tokens }),
  }),

  route({
    method: 'post',
    path: '/auth/refresh',
    summary: 'Rotates the refresh token, of the cookie or of the body, and renews the session.',
    auth: ['none'],
    csrf: 'refresh-cookie',
    body: z.strictObject({ refreshToken: z.string().optional() }),
    answer: z.object({ refreshed: z.literal(true) }).extend(ReturnedTokens.shape),
    async handle({ ctx, body: { refreshToken }, request, reply }) {
      try {
        const credentials = await ctx.auth.sessions.refresh(refreshToken ?? request.cookies['refresh'] ?? '', device(request));
        return logIn(reply, credentials, { returnToken: refreshToken !== undefined, notSecured: ctx.config.notSecured });
      } catch (error) {
        if (error instanceof AppError && error.code === 'session_revoked') logOut(reply);
        throw error;
      }
    },
    present: (tokens) => ({ refreshed: true as const, ...tokens }),
  }),

  route({
    method: 'get',
    path: '/auth/can-register',
    summary: 'Whether someone new may register here.',
    auth: ['none'],
    answer: z.object({ register: z.boolean() }),
    handle: ({ ctx }) => ctx.identity.canRegister(),
    present: (register) => ({ register }),
  }),

  ...(['/user/logout', '/auth/logout'] as const).map((path) =>
    route({
      method: 'post',
      path,
      summary: 'Ends all sessions of the user.',
      auth: ['session'],
      answer: z.object({ logout: z.literal(true) }),
      async handle({ ctx, principal, reply }) {
        await ctx.auth.sessions.revokeAll(principal.userId);
        logOut(reply);
      },
      present: () => ({ logout: true as const }),
    }),
  ),
];
