import { z } from 'zod';
import { isTimezone, presentOrganization } from '../../src/identity/index.ts';
import { instant, nameText } from '../http/fields.ts';
import { route } from '../http/route.ts';

const Organization = z.object({ id: z.string(), name: z.string(), timezone: z.string(), createdAt: instant });

export default [
  route({
    method: 'post',
    path: '/orgs',
    summary: 'Makes a further org, owned by the user.',
    auth: ['session'],
    creates: true,
    body: z.strictObject({ name: nameText(3, 128) }),
    answer: Organization,
    handle: ({ ctx, principal, body }) => ctx.identity.createOrganization(principal.userId, body.name),
    present: presentOrganization,
  }),

  route({
    method: 'get',
    path: '/orgs/current',
    summary: 'The org acted for.',
    auth: ['session'],
    permission: 'settings:read',
    answer: Organization,
    handle: ({ ctx, principal }) => ctx.identity.organization(principal.orgId),
    present: presentOrganization,
  }),

  route({
    method: 'put',
    path: '/orgs/current',
    summary: 'Changes name and time zone of the org.',
    auth: ['session'],
    permission: 'settings:update',
    body: z.strictObject({ name: nameText(3, 128).optional(), timezone: z.string().refine(isTimezone, 'not an IANA time zone').optional() }),
    answer: Organization,
    handle: ({ ctx, principal, body }) => ctx.identity.updateOrganization(principal.orgId, body),
    present: presentOrganization,
  }),
];
