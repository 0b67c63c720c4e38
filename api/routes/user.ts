import { z } from 'zod';
import { presentApiKey, presentSession } from '../../src/auth/index.ts';
import { presentMembership, presentSelf } from '../../src/identity/index.ts';
import { futureInstant, instant, nameText } from '../http/fields.ts';
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
const ApiKey = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  expiresAt: instant.nullable(),
  revokedAt: instant.nullable(),
  lastUsedAt: instant.nullable(),
  createdAt: instant,
});
const MadeKey = z.object({ plaintext: z.string(), prefix: z.string(), name: z.string() });
const Success = z.object({ success: z.literal(true) });
const success = () => ({ success: true as const });

export default [
  route({
    method: 'get',
    path: '/user/self',
    summary: 'The user, the org acted for, and what the role allows there.',
    auth: ['session'],
    answer: Self,
    handle: ({ ctx, principal }) => ctx.identity.self(principal.orgId, principal.userId),
    present: presentSelf,
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
    body: z.strictObject({ id: z.uuid() }),
    answer: z.object({ id: z.string() }),
    async handle({ ctx, principal, body, reply }) {
      const id = await ctx.identity.changeOrganization(principal.userId, body.id);
      reply.cookie('showorg', id);
      return { id };
    },
    present: (answer) => answer,
  }),

  route({
    method: 'get',
    path: '/user/sessions',
    summary: 'Where the user is logged in.',
    auth: ['session'],
    answer: z.array(z.object({ id: z.string(), userAgent: z.string(), ip: z.string(), lastUsedAt: instant, createdAt: instant, current: z.boolean() })),
    handle: async ({ ctx, principal }) => ({ rows: await ctx.auth.sessions.list(principal.userId), current: principal.sessionId }),
    present: ({ rows, current }) => rows.map((row) => presentSession(row, current)),
  }),

  route({
    method: 'post',
    path: '/user/sessions/revoke-all',
    summary: 'Ends every session of the user, this one included.',
    auth: ['session'],
    answer: Success.extend({ revoked: z.int() }),
    handle: ({ ctx, principal }) => ctx.auth.sessions.revokeAll(principal.userId),
    present: (revoked) => ({ ...success(), revoked }),
  }),

  route({
    method: 'post',
    path: '/user/sessions/:id/revoke',
    summary: 'Ends one session of the user.',
    auth: ['session'],
    answer: Success,
    handle: ({ ctx, principal, params }) => ctx.auth.sessions.revoke(principal.userId, params['id']!),
    present: success,
  }),

  route({
    method: 'get',
    path: '/user/api-keys',
    summary: 'Own API keys in this org, newest first, revoked ones for 90 days.',
    auth: ['session'],
    answer: z.array(ApiKey),
    handle: ({ ctx, principal }) => ctx.auth.apiKeys.list(principal.orgId, principal.userId),
    present: (rows) => rows.map(presentApiKey),
  }),

  route({
    method: 'post',
    path: '/user/api-keys',
    summary: 'Makes an API key; its text is shown in this answer only.',
    auth: ['session'],
    creates: true,
    body: z.strictObject({ name: nameText(1, 100), expiresAt: futureInstant.nullish() }),
    answer: MadeKey,
    async handle({ ctx, principal: { orgId, userId }, body }) {
      const made = await ctx.auth.apiKeys.create(orgId, userId, body);
      ctx.events.apiKeyCreated({ orgId, userId, key: made.prefix });
      return made;
    },
    present: (made) => made,
  }),

  route({
    method: 'post',
    path: '/user/api-keys/:id/rotate',
    summary: 'Makes a new API key in the place of an old one, which stops working.',
    auth: ['session'],
    creates: true,
    body: z.strictObject({ name: nameText(1, 100).optional(), expiresAt: futureInstant.nullish() }),
    answer: MadeKey,
    async handle({ ctx, principal: { orgId, userId }, params, body }) {
      const made = await ctx.auth.apiKeys.rotate(orgId, userId, params['id']!, body);
      ctx.events.apiKeyRevoked({ orgId, userId, keyId: params['id']! });
      ctx.events.apiKeyCreated({ orgId, userId, key: made.prefix });
      return made;
    },
    present: (made) => made,
  }),

  route({
    method: 'delete',
    path: '/user/api-keys/:id',
    summary: 'Revokes an API key.',
    auth: ['session'],
    answer: Success,
    async handle({ ctx, principal: { orgId, userId }, params }) {
      await ctx.auth.apiKeys.revoke(orgId, userId, params['id']!);
      ctx.events.apiKeyRevoked({ orgId, userId, keyId: params['id']! });
    },
    present: success,
  }),
];
