import { z } from 'zod';
import { presentInvitation, presentMember } from '../../src/people/members/index.ts';
import { auditActor } from '../http/audit-actor.ts';
import { instant } from '../http/fields.ts';
import { type CallOf, route } from '../http/route.ts';
import { throttleBy } from '../http/throttle.ts';

const HOUR_MS = 3_600_000;
const INVITATIONS_PER_ADDRESS = 10;
const INVITATIONS_A_DAY = 200;

const Role = z.object({ role: z.string(), roleId: z.string(), roleName: z.string() });
const Member = Role.extend({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  avatarUrl: z.string().nullable(),
  disabled: z.boolean(),
  lastOnline: instant.nullable(),
  createdAt: instant,
});
const Invitation = Role.extend({
  id: z.string(),
  email: z.string(),
  invitedBy: z.object({ id: z.string(), name: z.string(), email: z.string() }),
  expiresAt: instant,
  createdAt: instant,
});
const MadeInvitation = z.object({ id: z.string(), email: z.string(), role: z.string(), roleId: z.string(), url: z.string(), expiresAt: instant });
const Success = z.object({ success: z.literal(true) });
const success = () => ({ success: true as const });

/** Key or id of a role, which mean the same (S48). */
const named = { role: z.string().min(1).max(255).optional(), roleId: z.string().min(1).max(255).optional() };
export const InvitationBody = z.strictObject({ email: z.email().max(254), ...named, sendEmail: z.boolean().default(true) });

/** Counted by address too, known here or not: nobody's mailbox is flooded from here. And by person, in however many organizations: each is a mail of ours. */
export async function invite({ ctx, principal, body, request }: CallOf<z.output<typeof InvitationBody>, undefined, unknown>) {
  await throttleBy(ctx, `invite|user:${principal.userId}`, INVITATIONS_A_DAY, 24 * HOUR_MS);
  await throttleBy(ctx, `invite|${ctx.auth.accountBucket(body.email)}`, INVITATIONS_PER_ADDRESS, HOUR_MS);
  return ctx.members.invitations.create(principal.orgId, auditActor({ principal, request }), body);
}

export default [
  route({
    method: 'get',
    path: '/members',
    summary: 'The members of the org, in the order of their coming.',
    auth: ['session'],
    permission: 'members:read',
    answer: z.array(Member),
    handle: ({ ctx, principal }) => ctx.members.list(principal.orgId),
    present: (rows) => rows.map(presentMember),
  }),

  route({
    method: 'put',
    path: '/members/:id',
    summary: 'Gives a member another role, or disables and enables the membership.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'members:update',
    gate: 'team_members',
    body: z.strictObject({ ...named, disabled: z.boolean().optional() }),
    answer: Member,
    handle: ({ ctx, principal, params, body, request }) => ctx.members.change(principal.orgId, auditActor({ principal, request }), params['id']!, body),
    present: presentMember,
  }),

  route({
    method: 'delete',
    path: '/members/:id',
    summary: 'Removes a member; the keys and tokens of the membership end at once, what the member made stays.',
    auth: ['session'],
    permission: 'members:delete',
    answer: Success,
    handle: ({ ctx, principal, params, request }) => ctx.members.remove(principal.orgId, auditActor({ principal, request }), params['id']!),
    present: success,
  }),

  route({
    method: 'get',
    path: '/members/invitations',
    summary: 'The open invitations of the org, newest first.',
    auth: ['session'],
    permission: 'members:read',
    answer: z.array(Invitation),
    handle: ({ ctx, principal }) => ctx.members.invitations.list(principal.orgId),
    present: (rows) => rows.map(presentInvitation),
  }),

  route({
    method: 'post',
    path: '/members/invitations',
    summary: 'Invites an address: a link that works once, for seven days. It is answered here only; an invitation before it ends.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'members:create',
    gate: 'team_members',
    creates: true,
    body: InvitationBody,
    answer: MadeInvitation,
    handle: invite,
    present: (made) => ({ ...made, expiresAt: made.expiresAt.toISOString() }),
  }),

  route({
    method: 'delete',
    path: '/members/invitations/:id',
    summary: 'Withdraws an invitation.',
    auth: ['session'],
    permission: 'members:delete',
    answer: Success,
    handle: ({ ctx, principal, params, request }) => ctx.members.invitations.withdraw(principal.orgId, auditActor({ principal, request }), params['id']!),
    present: success,
  }),

  route({
    method: 'post',
    path: '/user/join-org',
    summary: 'Takes an invitation that was made for the address of the user, and acts for that org from now on.',
    auth: ['session'],
    gate: 'team_members',
    body: z.strictObject({ org: z.string().min(1).max(255) }),
    answer: z.object({ id: z.string() }),
    async handle({ ctx, principal, body, request, reply }) {
      const id = await ctx.members.invitations.join(auditActor({ principal, request }), body.org);
      reply.cookie('showorg', id);
      return { id };
    },
    present: (joined) => joined,
  }),

  route({
    method: 'post',
    path: '/user/leave-org',
    summary: 'Leaves an org, named so that a repeated request leaves no other. Whoever leaves the only one gets a new org of their own.',
    auth: ['session'],
    body: z.strictObject({ id: z.uuid() }),
    answer: Success,
    async handle({ ctx, principal, body, request, reply }) {
      await ctx.members.leave(body.id, auditActor({ principal, request }));
      if (request.cookies['showorg'] === body.id) reply.cookie('showorg', null);
    },
    present: success,
  }),

  route({
    method: 'post',
    path: '/orgs/current/transfer',
    summary: 'Makes another member the owner; an owner who hands over becomes admin.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'members:manage',
    body: z.strictObject({ userId: z.string().min(1).max(255) }),
    answer: Success,
    handle: ({ ctx, principal, body, request }) => ctx.members.transfer(principal.orgId, auditActor({ principal, request }), body.userId),
    present: success,
  }),
];
