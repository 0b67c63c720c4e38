import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { MemberKey, presentMemberKey } from '../user/api-keys.shape.ts';

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
];
