import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { LIMITS, MemberKey, presentLimits, presentMemberKey, ProgramLimits } from '../user/api-keys.shape.ts';

const route = routesOf('auth', 'events');

export default [
  route({
    method: 'get',
    path: '/members/api-keys',
    summary: 'List API keys of all members',
    description: 'Newest first; revoked keys for 90 days.',
    auth: ['session'],
    permission: 'api_keys:read',
    answer: z.array(MemberKey),
    handle: ({ rooms, principal }) => rooms.auth.apiKeys.listOfOrg(principal.orgId),
    present: (rows) => rows.map(presentMemberKey),
  }),

  route({
    method: 'delete',
    path: '/members/api-keys/:id',
    summary: 'Revoke an API key of a member',
    auth: ['session'],
    permission: 'api_keys:delete',
    answer: z.object({ success: z.literal(true) }),
    async handle({ rooms, principal, params, request }) {
      const { orgId, userId } = principal;
      await rooms.auth.apiKeys.revokeOfOrg(orgId, auditActor({ principal, request }), params.id);
      rooms.events.apiKeyRevoked({ orgId, userId, keyId: params.id });
    },
    present: () => ({ success: true as const }),
  }),

  route({
    method: 'get',
    path: '/members/api-keys/:id/limits',
    summary: 'Get the limits of an API key of a member',
    auth: ['session'],
    permission: 'api_keys:read',
    answer: ProgramLimits,
    handle: ({ rooms, principal: { orgId }, params: { id } }) => rooms.auth.apiKeys.findLimits(orgId, { id }),
    present: presentLimits,
  }),

  route({
    method: 'put',
    path: '/members/api-keys/:id/limits',
    summary: 'Change the limits of an API key of a member',
    description: LIMITS,
    auth: ['session'],
    permission: 'api_keys:update',
    body: ProgramLimits,
    answer: ProgramLimits,
    handle: ({ rooms, principal, params, body, request }) =>
      rooms.auth.apiKeys.changeLimits(principal.orgId, auditActor({ principal, request }), { id: params.id }, body),
    present: presentLimits,
  }),
];
