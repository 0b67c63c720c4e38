import { z } from 'zod';
import { mobileLink } from '../../../src/people/federated-login/index.ts';
import { AppError, randomBase64url } from '../../../src/platform/kernel/index.ts';
import { device, dropCookies, logIn, ReturnedTokens } from '../../http/credentials.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { emailText, newPassword, repeated } from '../../http/fields.ts';
import {
  knownBrowserCookie,
  loginCookie,
  registrationCookie,
  setKnownBrowserCookie,
  setLoginCookie,
  setRegistrationCookie,
} from '../../http/login-cookie.ts';
import { isOwner } from '../../http/own-machine.ts';
import { type Call, type Request, routesOf } from '../../http/route.ts';
import { type Counting, networkBucket, throttleBy } from '../../http/throttle.ts';
import { logoutRoute } from './handlers.ts';
import { isLocal, Login, LoginProvider, NewUser, presentLoginProvider } from './shape.ts';

const route = routesOf('auth', 'cache', 'clock', 'config', 'events', 'identity', 'login');

const ACCOUNT_WINDOW_MS = 15 * 60_000;
const HOUR_MS = 60 * 60_000;
const PER_PLACE = 10;
const PER_ACCOUNT = 100;
/**
 * Guesses at an account are counted by network, and all together. A browser in which it was logged in counts for
 * itself, so that nobody who uses the guesses up closes the account to its owner.
 */
async function throttleGuesses(
  rooms: Counting & Call<'auth'>['rooms'],
  email: string,
  request: Request,
): Promise<void> {
  const account = rooms.auth.accountBucket(email);
  const browser = rooms.auth.knownBrowsers.idOf(email, knownBrowserCookie(request));
  const place = browser === undefined ? networkBucket(rooms, request.ip) : `browser:${browser}`;
  // first: what is refused here is no guess
  await throttleBy(rooms, `login|${place}|${account}`, PER_PLACE, ACCOUNT_WINDOW_MS);
  await throttleBy(
    rooms,
    `login|${browser === undefined ? 'unknown' : 'known'}|${account}`,
    PER_ACCOUNT,
    ACCOUNT_WINDOW_MS,
  );
}
const line = z.string().max(4_096);
const mailCode = z.string().max(500);
const Address = z.strictObject({ email: emailText });

export default [
  route({
    method: 'post',
    path: '/auth/register',
    summary: 'Register a user',
    description:
      'Creates the user with an organization and logs in, or sends a mail that has to be answered first. Whoever brings the setup token becomes the first super-admin.',
    auth: ['none'],
    limit: '5/minute',
    body: NewUser,
    answer: z.union([
      z.object({ register: z.literal(true) }).extend(ReturnedTokens.shape),
      z.object({ activate: z.literal(true) }),
    ]),
    async handle({
      rooms,
      body: {
        provider,
        email = '',
        password = '',
        providerToken = '',
        company,
        name,
        timezone: zone,
        setupToken,
        returnToken = false,
      },
      request,
      reply,
    }) {
      const claim = { setupToken, isLocal: isOwner(request, rooms.config) };
      if (!isLocal(provider)) {
        const person = { company, name, timezone: zone, claim };
        const credentials = await rooms.login.register(
          provider,
          providerToken,
          person,
          loginCookie(request) ?? '',
          device(request),
        );
        rooms.events.userRegistered({ userId: credentials.userId });
        setLoginCookie(reply, null);
        return {
          register: true as const,
          ...logIn(reply, credentials, { returnToken, notSecured: rooms.config.notSecured }),
        };
      }
      await throttleBy(rooms, `register|${rooms.auth.accountBucket(email)}`, 5, HOUR_MS); // each sends a mail
      const registered = await rooms.auth.register(
        { email, password, company, name, timezone: zone, claim },
        device(request),
      );
      if ('browser' in registered) {
        setRegistrationCookie(reply, registered.browser);
        return { activate: true as const };
      }
      const { credentials } = registered;
      rooms.events.userRegistered({ userId: credentials.userId });
      return {
        register: true as const,
        ...logIn(reply, credentials, { returnToken, notSecured: rooms.config.notSecured }),
      };
    },
    present: (answer) => answer,
  }),

  route({
    method: 'post',
    path: '/auth/login',
    summary: 'Log in',
    description: 'With email and password, or with the token of a login provider.',
    auth: ['none'],
    limit: '10/minute',
    body: Login,
    answer: z.object({ login: z.literal(true) }).extend(ReturnedTokens.shape),
    async handle({
      rooms,
      body: { provider, email = '', password = '', providerToken, returnToken = false },
      request,
      reply,
    }) {
      const isToken = !isLocal(provider) && providerToken !== undefined;
      if (!isToken) await throttleGuesses(rooms, email, request);
      const attempt = isToken
        ? rooms.login.login(provider, providerToken, loginCookie(request) ?? '', device(request))
        : rooms.auth.login({ provider, email, password, browser: registrationCookie(request) }, device(request));
      const credentials = await attempt.catch((error: unknown) => {
        if (error instanceof AppError) rooms.events.loginRefused({ ip: request.ip, code: error.code });
        throw error;
      });
      if (isToken) setLoginCookie(reply, null);
      else setKnownBrowserCookie(reply, rooms.auth.knownBrowsers.remember(email));
      return logIn(reply, credentials, { returnToken, notSecured: rooms.config.notSecured });
    },
    present: (tokens) => ({ login: true as const, ...tokens }),
  }),

  route({
    method: 'post',
    path: '/auth/refresh',
    summary: 'Refresh the session',
    description: 'Rotates the refresh token, of the cookie or of the body.',
    auth: ['none'],
    csrf: 'refresh-cookie',
    body: z.strictObject({ refreshToken: z.string().optional() }),
    answer: z.object({ refreshed: z.literal(true) }).extend(ReturnedTokens.shape),
    async handle({ rooms, body: { refreshToken }, request, reply }) {
      try {
        const credentials = await rooms.auth.sessions.refresh(
          refreshToken ?? request.cookies['refresh'] ?? '',
          device(request),
        );
        return logIn(reply, credentials, {
          returnToken: refreshToken !== undefined,
          notSecured: rooms.config.notSecured,
        });
      } catch (error) {
        if (error instanceof AppError && error.code === 'session_revoked') dropCookies(reply);
        throw error;
      }
    },
    present: (tokens) => ({ refreshed: true as const, ...tokens }),
  }),

  route({
    method: 'get',
    path: '/auth/can-register',
    summary: 'Check whether registration is open',
    auth: ['none'],
    answer: z.object({ register: z.boolean() }),
    handle: ({ rooms }) => rooms.identity.canRegister(),
    present: (register) => ({ register }),
  }),

  logoutRoute('/auth/logout'),

  route({
    method: 'get',
    path: '/auth/providers',
    summary: 'List login providers',
    auth: ['none'],
    answer: z.array(LoginProvider),
    handle: ({ rooms }) => rooms.login.list(),
    present: (offered) => offered.map(presentLoginProvider),
  }),

  route({
    method: 'get',
    path: '/auth/nonce/:provider',
    summary: 'Create a nonce for a wallet login',
    description: 'With `address` the answer holds the whole message to sign.',
    auth: ['none'],
    limit: '60/minute',
    query: z.object({ address: z.string().max(128).optional() }),
    answer: z.strictObject({ nonce: z.string(), message: z.string().optional() }),
    async handle({ rooms, params, query, request, reply }) {
      const browser = loginCookie(request) ?? randomBase64url(32);
      const challenge = await rooms.login.challenge(params.provider, { address: query.address, browser });
      setLoginCookie(reply, browser);
      return challenge;
    },
    present: (challenge) => challenge,
  }),

  route({
    method: 'get',
    path: '/auth/oauth-mobile-callback',
    summary: 'Redirect a login to the mobile application',
    description: "Only the parameters of the consent page's answer are passed on.",
    auth: ['none'],
    query: z.object({
      code: line.optional(),
      state: line.optional(),
      error: line.optional(),
      error_description: line.optional(),
      provider: line.optional(),
    }),
    output: 'text',
    answer: z.string(),
    async handle({ rooms, query: { code, state, error, error_description, provider }, reply }) {
      reply.status(302);
      reply.header(
        'location',
        mobileLink(rooms.config.http.mobileAppScheme, { code, state, error, error_description, provider }),
      );
      reply.header('cache-control', 'no-store');
      return '';
    },
    present: (text) => text,
  }),

  route({
    method: 'post',
    path: '/auth/activate',
    summary: 'Activate an account and log in',
    description:
      'With the code of a mail, once. `setPassword`: this browser is not that of the registration, so a password is to be set.',
    auth: ['none'],
    limit: '5/minute',
    body: z.strictObject({ code: mailCode, returnToken: z.boolean().optional() }),
    answer: z.object({ can: z.boolean(), setPassword: z.literal(true).optional() }).extend(ReturnedTokens.shape),
    async handle({ rooms, body: { code: given, returnToken = false }, request, reply }) {
      const credentials = await rooms.auth.activate(given, registrationCookie(request), device(request));
      if (!credentials) return { can: false };
      rooms.events.userRegistered({ userId: credentials.userId });
      setRegistrationCookie(reply, null);
      return {
        can: true,
        ...(!credentials.hasPassword && { setPassword: true as const }),
        ...logIn(reply, credentials, { returnToken, notSecured: rooms.config.notSecured }),
      };
    },
    present: (answer) => answer,
  }),

  route({
    method: 'post',
    path: '/auth/resend-activation',
    summary: 'Send the activation mail again',
    description: 'If the address waits for one; the answer does not tell.',
    auth: ['none'],
    limit: '5/minute',
    body: Address,
    answer: z.object({ success: z.literal(true) }),
    async handle({ rooms, body: { email }, request }) {
      await throttleBy(rooms, `resend|${rooms.auth.accountBucket(email)}`, 3, HOUR_MS);
      await rooms.auth.requestMail('activate', email, device(request));
    },
    present: () => ({ success: true as const }),
  }),

  route({
    method: 'post',
    path: '/auth/forgot',
    summary: 'Request a password reset mail',
    description: 'The answer does not tell whether the address has an account.',
    auth: ['none'],
    limit: '5/minute',
    body: Address,
    answer: z.object({ forgot: z.literal(true) }),
    async handle({ rooms, body: { email }, request }) {
      await throttleBy(rooms, `forgot|${rooms.auth.accountBucket(email)}`, 3, HOUR_MS);
      await rooms.auth.requestMail('reset', email, device(request));
    },
    present: () => ({ forgot: true as const }),
  }),

  route({
    method: 'post',
    path: '/auth/forgot-return',
    summary: 'Reset the password with a mailed token',
    description: 'The token works once. Every session, API key, calendar feed and approved app ends.',
    auth: ['none'],
    limit: '5/minute',
    body: repeated(z.strictObject({ token: mailCode, password: newPassword, repeatPassword: z.string() })),
    answer: z.object({ reset: z.boolean() }),
    handle: ({ rooms, body: { token, password }, request }) => rooms.auth.accounts.reset(token, password, request.ip),
    present: (reset) => ({ reset }),
  }),

  route({
    method: 'post',
    path: '/auth/confirm-email',
    summary: 'Confirm a new email address',
    description: 'Makes the address that got the mail that of the user in this session, once.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '5/minute',
    limitBy: 'ip',
    body: z.strictObject({ code: mailCode }),
    answer: z.object({ can: z.boolean() }),
    handle: ({ rooms, body, ...call }) =>
      rooms.auth.accounts.confirmEmail({ ...auditActor(call), sessionId: call.principal.sessionId! }, body.code),
    present: (can) => ({ can }),
  }),
];
