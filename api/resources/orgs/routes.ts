import { z } from 'zod';
import { isTimezone } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { nameText } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';
import { throttleBy } from '../../http/throttle.ts';
import { Organization, presentOrganization } from './shape.ts';

const route = routesOf('cache', 'clock', 'config', 'members', 'organizations');

const DAY_MS = 24 * 60 * 60_000;
/** Organizations that a person makes in a day; how many they may own is a setting. */
const MADE_A_DAY = 5;

export default [
  route({
    method: 'post',
    path: '/orgs',
    summary: 'Create an organization',
    description: 'Owned by the user: five a day, and no more than ORGANIZATIONS_PER_OWNER in all.',
    auth: ['session'],
    impersonation: 'allowed',
    creates: true,
    body: z.strictObject({ name: nameText(3, 128) }),
    answer: Organization,
    async handle({ rooms, principal, body, request }) {
      await throttleBy(rooms, `orgs|user:${principal.userId}`, MADE_A_DAY, DAY_MS);
      return rooms.organizations.create(auditActor({ principal, request }), body.name);
    },
    present: presentOrganization,
  }),

  route({
    method: 'get',
    path: '/orgs/current',
    summary: 'Get the current organization',
    auth: ['session'],
    permission: 'settings:read',
    answer: Organization,
    handle: ({ rooms, principal }) => rooms.organizations.get(principal.orgId),
    present: presentOrganization,
  }),

  route({
    method: 'put',
    path: '/orgs/current',
    summary: 'Change name and time zone of the organization',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: z.strictObject({
      name: nameText(3, 128).optional(),
      timezone: z.string().refine(isTimezone, 'not an IANA time zone').optional(),
    }),
    answer: Organization,
    handle: ({ rooms, principal, body, request }) =>
      rooms.organizations.update(principal.orgId, auditActor({ principal, request }), body),
    present: presentOrganization,
  }),

  route({
    method: 'delete',
    path: '/orgs/current',
    summary: 'Delete the organization',
    description: 'By an owner who repeats its name. Its subscription ends; its rows are kept for 30 days.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'settings:manage',
    body: z.strictObject({ confirm: z.string().max(255) }),
    answer: z.object({ success: z.literal(true) }),
    async handle({ rooms, principal, body, request, reply }) {
      await rooms.organizations.remove(principal.orgId, auditActor({ principal, request }), body.confirm);
      reply.cookie('showorg', null);
    },
    present: () => ({ success: true as const }),
  }),

  route({
    method: 'post',
    path: '/orgs/current/transfer',
    summary: 'Transfer ownership of the organization',
    description: 'To another member; an owner who hands over becomes admin.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'members:manage',
    body: z.strictObject({ userId: z.string().min(1).max(255) }),
    answer: z.object({ success: z.literal(true) }),
    handle: ({ rooms, principal, body, request }) =>
      rooms.members.transfer(principal.orgId, auditActor({ principal, request }), body.userId),
    present: () => ({ success: true as const }),
  }),
];
