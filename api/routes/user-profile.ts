import { z } from 'zod';
import type { Context } from '../../src/context.ts';
import { presentProfile } from '../../src/people/identity/index.ts';
import { isTimezone } from '../../src/platform/kernel/index.ts';
import { logOut } from '../http/credentials.ts';
import { auditActor } from '../http/audit-actor.ts';
import { emailText, nameText, newPassword, repeated } from '../http/fields.ts';
import { type Principal, type Request, route } from '../http/route.ts';
import { throttleBy } from '../http/throttle.ts';

const Profile = z.object({
  name: z.string(),
  lastName: z.string(),
  bio: z.string(),
  avatarUrl: z.string().nullable(),
  pictureId: z.string().nullable(),
  timezone: z.string(),
});
const ProfileChange = z.strictObject({
  name: nameText(0, 100).optional(),
  lastName: nameText(0, 100).optional(),
  bio: z.string().max(2_000).optional(),
  pictureId: z.string().nullish(),
  timezone: z.string().refine(isTimezone, 'not an IANA time zone').optional(),
});
const Success = z.object({ success: z.literal(true) });
const success = () => ({ success: true as const });
const password = z.string().max(1024);

/** The user in this session. Whoever holds it may guess the password ten times in a quarter of an hour. */
async function bySession(ctx: Context, call: { principal: Principal; request: Request }) {
  await throttleBy(ctx, `password|user:${call.principal.userId}`, 10, 15 * 60_000);
  return { ...auditActor(call), sessionId: call.principal.sessionId! };
}

export default [
  route({
    method: 'get',
    path: '/user/personal',
    summary: 'The profile of the user.',
    auth: ['session'],
    answer: Profile,
    handle: ({ ctx, principal }) => ctx.identity.profile(principal.userId),
    present: presentProfile,
  }),

  ...(['post', 'put'] as const).map((method) =>
    route({
      method,
      path: '/user/personal',
      summary: 'Changes the profile; what is absent stays.',
      auth: ['session'],
      impersonation: 'allowed',
      body: ProfileChange,
      answer: Profile,
      handle: ({ ctx, principal, body }) => ctx.identity.updateProfile(principal.userId, body),
      present: presentProfile,
    }),
  ),

  route({
    method: 'post',
    path: '/user/change-password',
    summary:
      'Sets a new password and ends all other sessions, with `revokeKeys` all API keys and approved apps, too; an account that was activated without one needs no old one, soon after its activation.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '10/minute',
    body: repeated(z.strictObject({ oldPassword: password.optional(), password: newPassword, repeatPassword: z.string(), revokeKeys: z.boolean().optional() })),
    answer: Success,
    handle: async ({ ctx, body, ...call }) => ctx.auth.accounts.changePassword(await bySession(ctx, call), body),
    present: success,
  }),

  route({
    method: 'post',
    path: '/user/change-email',
    summary: 'Asks a new address to confirm that it is the user’s; the old one is told.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '10/minute',
    body: z.strictObject({ email: emailText, password }),
    answer: Success,
    async handle({ ctx, body, ...call }) {
      const by = await bySession(ctx, call);
      await throttleBy(ctx, `change-email|${ctx.auth.accountBucket(body.email)}`, 3, 60 * 60_000); // mails to one address
      await ctx.auth.accounts.changeEmail(by, body);
    },
    present: success,
  }),

  route({
    method: 'delete',
    path: '/user',
    summary: 'Deletes the account; it is kept for 30 days.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '10/minute',
    body: z.strictObject({ password: password.optional() }),
    answer: Success,
    async handle({ ctx, body, reply, ...call }) {
      const by = await bySession(ctx, call);
      await ctx.auth.accounts.remove(by, body.password, ({ id, name }) => ctx.organizations.remove(id, by, name));
      logOut(reply);
    },
    present: success,
  }),
];
