import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { LIMITS, presentLimits, ProgramLimits } from './api-keys.shape.ts';
import { Approval, presentApproval } from './approved-apps.shape.ts';

const route = routesOf('config', 'oauth');

export default [
  route({
    method: 'get',
    path: '/user/approved-apps',
    summary: 'List authorized apps',
    description: 'Those that the user lets act for them in this organization, newest first.',
    auth: ['session'],
    answer: z.array(Approval),
    handle: async ({ rooms, principal: { orgId, userId } }) => ({
      rows: await rooms.oauth.consent.list(orgId, userId),
      backendUrl: rooms.config.http.backendUrl,
    }),
    present: ({ rows, backendUrl }) => rows.map((row) => presentApproval(row, backendUrl)),
  }),

  route({
    method: 'delete',
    path: '/user/approved-apps/:id',
    summary: 'Revoke the authorization of an app',
    description: 'With all its tokens.',
    auth: ['session'],
    answer: z.object({ success: z.literal(true) }),
    handle: (call) => call.rooms.oauth.consent.revoke(call.principal.orgId, auditActor(call), call.params.id),
    present: () => ({ success: true as const }),
  }),

  route({
    method: 'get',
    path: '/user/approved-apps/:id/limits',
    summary: 'Get the limits of an authorized app',
    auth: ['session'],
    answer: ProgramLimits,
    handle: ({ rooms, principal: { orgId, userId }, params: { id } }) => rooms.oauth.limits.find(orgId, userId, id),
    present: presentLimits,
  }),

  route({
    method: 'put',
    path: '/user/approved-apps/:id/limits',
    summary: 'Change the limits of an authorized app',
    description: LIMITS,
    auth: ['session'],
    body: ProgramLimits,
    answer: ProgramLimits,
    handle: ({ rooms, principal, params, body, request }) =>
      rooms.oauth.limits.change(principal.orgId, auditActor({ principal, request }), params.id, body),
    present: presentLimits,
  }),
];
