import { z } from 'zod';
import { device, logIn, ReturnedTokens } from '../http/credentials.ts';
import { auditActor } from '../http/audit-actor.ts';
import { emailText, newPassword, repeated } from '../http/fields.ts';
import { registrationCookie, setRegistrationCookie } from '../http/login-cookie.ts';
import { route } from '../http/route.ts';
import { throttleBy } from '../http/throttle.ts';

const HOUR_MS = 3_600_000;
const code = z.string().max(500);
const Address = z.strictObject({ email: emailText });

export default [
  route({
    method: 'post',
    path: '/auth/activate',
    summary:
      'Activates the account with the code of a mail, once, and logs in; `setPassword`: in another browser than that of the registration, so that a password is to be set.',
    auth: ['none'],
    limit: '5/minute',
    body: z.strictObject({ code, returnToken: z.boolean().optional() }),
    answer: z.object({ can: z.boolean(), setPassword: z.literal(true).optional() }).extend(ReturnedTokens.shape),
    async handle({ ctx, body: { code: given, returnToken = false }, request, reply }) {
      const credentials = await ctx.auth.activate(given, registrationCookie(request), device(request));
      if (!credentials) return { can: false };
      ctx.events.userRegistered({ userId: credentials.userId });
      setRegistrationCookie(reply, null);
      return {
        can: true,
        ...(!credentials.hasPassword && { setPassword: true as const }),
        ...logIn(reply, credentials, { returnToken, notSecured: ctx.config.notSecured }),
      };
    },
    present: (answer) => answer,
  }),

  route({
    method: 'post',
    path: '/auth/resend-activation',
    summary: 'Sends the activation mail again, if the address waits for one; the answer does not tell.',
    auth: ['none'],
    limit: '5/minute',
    body: Address,
    answer: z.object({ success: z.literal(true) }),
    async handle({ ctx, body: { email }, request }) {
      await throttleBy(ctx, `resend|${ctx.auth.accountBucket(email)}`, 3, HOUR_MS);
      await ctx.auth.requestMail('activate', email, device(request));
    },
    present: () => ({ success: true as const }),
  }),

  route({
    method: 'post',
    path: '/auth/forgot',
    summary: 'Sends a link to set a new password, if the address has an account; the answer does not tell.',
    auth: ['none'],
    limit: '5/minute',
    body: Address,
    answer: z.object({ forgot: z.literal(true) }),
    async handle({ ctx, body: { email }, request }) {
      await throttleBy(ctx, `forgot|${ctx.auth.accountBucket(email)}`, 3, HOUR_MS);
      await ctx.auth.requestMail('reset', email, device(request));
    },
    present: () => ({ forgot: true as const }),
  }),

  route({
    method: 'post',
    path: '/auth/forgot-return',
    summary: 'Sets a new password with the token of a mail, once, and ends every session, API key and approved app.',
    auth: ['none'],
    limit: '5/minute',
    body: repeated(z.strictObject({ token: code, password: newPassword, repeatPassword: z.string() })),
    answer: z.object({ reset: z.boolean() }),
    handle: ({ ctx, body: { token, password }, request }) => ctx.auth.accounts.reset(token, password, request.ip),
    present: (reset) => ({ reset }),
  }),

  route({
    method: 'post',
    path: '/auth/confirm-email',
    summary: 'Makes the address that got the mail that of the user in this session, once.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '5/minute',
    limitBy: 'ip',
    body: z.strictObject({ code }),
    answer: z.object({ can: z.boolean() }),
    handle: ({ ctx, body, ...call }) => ctx.auth.accounts.confirmEmail({ ...auditActor(call), sessionId: call.principal.sessionId! }, body.code),
    present: (can) => ({ can }),
  }),
];
