import { z } from 'zod';
import { isTimezone } from '../../../src/platform/kernel/index.ts';
import { logOut } from '../../http/credentials.ts';
import { auditActor, sessionActor } from '../../http/audit-actor.ts';
import { emailText, nameText, newPassword, repeated } from '../../http/fields.ts';
import { type Caller, routesOf } from '../../http/route.ts';
import { type Counting, throttleBy } from '../../http/throttle.ts';
import { logoutRoute } from '../auth/handlers.ts';
import { Membership, presentMembership, presentProfile, presentSelf, Profile, Self } from './shape.ts';

const route = routesOf('auth', 'billing', 'cache', 'clock', 'config', 'identity', 'members', 'organizations');

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
async function bySession(rooms: Counting, call: Caller) {
  await throttleBy(rooms, `password|user:${call.principal.userId}`, 10, 15 * 60_000);
  return sessionActor(call);
}

export default [
  route({
    method: 'get',
    path: '/user/self',
    summary: 'Get the user, organization and permissions',
    description: 'The organization acted for, and what the role allows there.',
    auth: ['session'],
    answer: Self,
    handle: async ({ rooms, principal }) => ({
      row: await rooms.identity.self(principal.orgId, principal.userId),
      plan: await rooms.billing.shown(principal.orgId),
      impersonate: principal.impersonatorId !== undefined,
    }),
    present: ({ row, plan, impersonate }) => presentSelf(row, plan, { impersonate }),
  }),

  route({
    method: 'get',
    path: '/user/organizations',
    summary: 'List organizations of the user',
    auth: ['session'],
    answer: z.array(Membership),
    handle: ({ rooms, principal }) => rooms.identity.organizationsOf(principal.userId),
    present: (rows) => rows.map(presentMembership),
  }),

  route({
    method: 'post',
    path: '/user/change-org',
    summary: 'Switch to another organization',
    description: 'The user acts for it from now on.',
    auth: ['session'],
    impersonation: 'allowed',
    body: z.strictObject({ id: z.uuid() }),
    answer: z.object({ id: z.string() }),
    async handle({ rooms, principal, body, reply }) {
      const id = await rooms.identity.changeOrganization(principal.userId, body.id);
      reply.cookie('showorg', id);
      return { id };
    },
    present: (answer) => answer,
  }),

  route({
    method: 'get',
    path: '/user/personal',
    summary: 'Get the user profile',
    auth: ['session'],
    answer: Profile,
    handle: ({ rooms, principal }) => rooms.identity.profile(principal.userId),
    present: presentProfile,
  }),

  ...(['post', 'put'] as const).map((method) =>
    route({
      method,
      path: '/user/personal',
      summary: 'Change the user profile',
      description: 'What is absent stays.',
      auth: ['session'],
      impersonation: 'allowed',
      body: ProfileChange,
      answer: Profile,
      handle: ({ rooms, principal, body }) => rooms.identity.updateProfile(principal.userId, body),
      present: presentProfile,
    }),
  ),

  route({
    method: 'post',
    path: '/user/change-password',
    summary: 'Change the password',
    description:
      'Ends all other sessions, with `revokeKeys` all API keys, calendar feeds and approved apps too. An account that was activated without a password needs no old one, soon after its activation.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '10/minute',
    body: repeated(
      z.strictObject({
        oldPassword: password.optional(),
        password: newPassword,
        repeatPassword: z.string(),
        revokeKeys: z.boolean().optional(),
      }),
    ),
    answer: Success,
    handle: async ({ rooms, body, ...call }) => rooms.auth.accounts.changePassword(await bySession(rooms, call), body),
    present: success,
  }),

  route({
    method: 'post',
    path: '/user/change-email',
    summary: 'Request a change of the email address',
    description: 'The new address has to confirm it; the old one is told.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '10/minute',
    body: z.strictObject({ email: emailText, password }),
    answer: Success,
    async handle({ rooms, body, ...call }) {
      const by = await bySession(rooms, call);
      // mails to one address
      await throttleBy(rooms, `change-email|${rooms.auth.accountBucket(body.email)}`, 3, 60 * 60_000);
      await rooms.auth.accounts.changeEmail(by, body);
    },
    present: success,
  }),

  route({
    method: 'delete',
    path: '/user',
    summary: 'Delete the user account',
    description: 'It is kept for 30 days.',
    auth: ['session'],
    impersonation: 'refused',
    limit: '10/minute',
    body: z.strictObject({ password: password.optional() }),
    answer: Success,
    async handle({ rooms, body, reply, ...call }) {
      const by = await bySession(rooms, call);
      await rooms.auth.accounts.remove(by, body.password, (orgId) => rooms.organizations.removeWithOwner(orgId, by));
      logOut(reply);
    },
    present: success,
  }),

  route({
    method: 'post',
    path: '/user/join-org',
    summary: 'Accept an invitation',
    description: 'One for the address of the user, who acts for that organization from now on.',
    auth: ['session'],
    planLimit: 'team_members',
    body: z.strictObject({ org: z.string().min(1).max(255) }),
    answer: z.object({ id: z.string() }),
    async handle({ rooms, principal, body, request, reply }) {
      const id = await rooms.members.invitations.join(auditActor({ principal, request }), body.org);
      reply.cookie('showorg', id);
      return { id };
    },
    present: (joined) => joined,
  }),

  route({
    method: 'post',
    path: '/user/leave-org',
    summary: 'Leave an organization',
    description: 'It is named, so that a repeated request leaves no other. Whoever leaves the only one gets a new one.',
    auth: ['session'],
    body: z.strictObject({ id: z.uuid() }),
    answer: Success,
    async handle({ rooms, principal, body, request, reply }) {
      await rooms.members.leave(body.id, auditActor({ principal, request }));
      if (request.cookies['showorg'] === body.id) reply.cookie('showorg', null);
    },
    present: success,
  }),

  logoutRoute('/user/logout'),
];
