import { z } from 'zod';
import { presentMembership, presentSelf } from '../../src/people/identity/index.ts';
import { instant } from '../http/fields.ts';
import { route } from '../http/route.ts';

const Self = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  lastName: z.string(),
  bio: z.string(),
  avatarUrl: z.string().nullable(),
  timezone: z.string(),
  providerName: z.string(),
  activated: z.boolean(),
  hasPassword: z.boolean(),
  isSuperAdmin: z.boolean(),
  admin: z.boolean(),
  impersonate: z.boolean(),
  orgId: z.string(),
  orgName: z.string(),
  role: z.string(),
  permissions: z.array(z.string()),
  tier: z.string(),
  isLifetime: z.boolean(),
  isTrialing: z.boolean(),
  allowTrial: z.boolean(),
  totalChannels: z.int(),
  billingEnabled: z.boolean(),
  lastReadNotifications: instant,
});

export default [
  route({
    method: 'get',
    path: '/user/self',
    summary: 'The user, the org acted for, and what the role allows there.',
    auth: ['session'],
    answer: Self,
    handle: async ({ ctx, principal }) => ({
      row: await ctx.identity.self(principal.orgId, principal.userId),
      plan: await ctx.billing.shown(principal.orgId),
      impersonate: principal.impersonatorId !== undefined,
    }),
    present: ({ row, plan, impersonate }) => presentSelf(row, plan, { impersonate }),
  }),

  route({
    method: 'get',
    path: '/user/organizations',
    summary: 'The orgs of the user.',
    auth: ['session'],
    answer: z.array(z.object({ id: z.string(), name: z.string(), role: z.string(), disabled: z.boolean(), createdAt: instant })),
    handle: ({ ctx, principal }) => ctx.identity.organizationsOf(principal.userId),
    present: (rows) => rows.map(presentMembership),
  }),

  route({
    method: 'post',
    path: '/user/change-org',
    summary: 'Acts for another org of the user from now on.',
    auth: ['session'],
    impersonation: 'allowed',
    body: z.strictObject({ id: z.uuid() }),
    answer: z.object({ id: z.string() }),
    async handle({ ctx, principal, body, reply }) {
      const id = await ctx.identity.changeOrganization(principal.userId, body.id);
      reply.cookie('showorg', id);
      return { id };
    },
    present: (answer) => answer,
  }),
];
