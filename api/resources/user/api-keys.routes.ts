import { z } from 'zod';
import { auditActor, sessionActor } from '../../http/audit-actor.ts';
import { DateText } from '../../../src/publishing/posts/index.ts';
import { nameText } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';
import { ApiKey, LIMITS, presentApiKey, presentLimits, ProgramLimits } from './api-keys.shape.ts';

const route = routesOf('auth', 'events');

const MadeKey = z.object({ plaintext: z.string(), prefix: z.string(), name: z.string() });
const Success = z.object({ success: z.literal(true) });
const success = () => ({ success: true as const });

export default [
  route({
    method: 'get',
    path: '/user/api-keys',
    summary: 'List own API keys',
    description: 'Those in this organization, newest first; revoked keys for 90 days.',
    auth: ['session'],
    answer: z.array(ApiKey),
    handle: ({ rooms, principal }) => rooms.auth.apiKeys.list(principal.orgId, principal.userId),
    present: (rows) => rows.map(presentApiKey),
  }),

  route({
    method: 'post',
    path: '/user/api-keys',
    summary: 'Create an API key',
    description: 'Its text is shown in this answer only.',
    auth: ['session'],
    impersonation: 'refused',
    creates: true,
    body: z.strictObject({ name: nameText(1, 100), expiresAt: DateText.nullish() }),
    answer: MadeKey,
    async handle({ rooms, principal, body, request }) {
      const { orgId, userId } = principal;
      const made = await rooms.auth.apiKeys.create(orgId, sessionActor({ principal, request }), body);
      rooms.events.apiKeyCreated({ orgId, userId, key: made.prefix });
      return made;
    },
    present: (made) => made,
  }),

  route({
    method: 'post',
    path: '/user/api-keys/:id/rotate',
    summary: 'Rotate an API key',
    description: 'Creates a new one in its place; the old one stops working.',
    auth: ['session'],
    impersonation: 'refused',
    creates: true,
    body: z.strictObject({ name: nameText(1, 100).optional(), expiresAt: DateText.nullish() }),
    answer: MadeKey,
    async handle({ rooms, principal, params, body, request }) {
      const { orgId, userId } = principal;
      const made = await rooms.auth.apiKeys.rotate(orgId, sessionActor({ principal, request }), params.id, body);
      rooms.events.apiKeyRevoked({ orgId, userId, keyId: params.id });
      rooms.events.apiKeyCreated({ orgId, userId, key: made.prefix });
      return made;
    },
    present: (made) => made,
  }),

  route({
    method: 'delete',
    path: '/user/api-keys/:id',
    summary: 'Revoke an API key',
    auth: ['session'],
    answer: Success,
    async handle({ rooms, principal, params, request }) {
      const { orgId, userId } = principal;
      await rooms.auth.apiKeys.revoke(orgId, auditActor({ principal, request }), params.id);
      rooms.events.apiKeyRevoked({ orgId, userId, keyId: params.id });
    },
    present: success,
  }),

  route({
    method: 'get',
    path: '/user/api-keys/:id/limits',
    summary: 'Get the limits of an own API key',
    auth: ['session'],
    answer: ProgramLimits,
    handle: ({ rooms, principal: { orgId, userId }, params: { id } }) =>
      rooms.auth.apiKeys.findLimits(orgId, { id, userId }),
    present: presentLimits,
  }),

  route({
    method: 'put',
    path: '/user/api-keys/:id/limits',
    summary: 'Change the limits of an own API key',
    description: LIMITS,
    auth: ['session'],
    body: ProgramLimits,
    answer: ProgramLimits,
    handle: ({ rooms, principal, params, body, request }) =>
      rooms.auth.apiKeys.changeLimits(
        principal.orgId,
        auditActor({ principal, request }),
        { id: params.id, userId: principal.userId },
        body,
      ),
    present: presentLimits,
  }),
];
