import { z } from 'zod';
import { isTimezone, unbuilt } from '../../../src/platform/kernel/index.ts';
import { HOLDS, Settings, orgSettingsOf } from '../../../src/people/organizations/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { OrgSettings, presentSettings } from './shape.ts';

const route = routesOf('organizations');

// The fields that the organization's row keeps; a body leaves out what it does not change.
const { approvalRequired, reconnectPolicy, shortlink, defaultShortlinkProviderId } = Settings.shape;
const field = <T extends z.ZodType>(schema: z.ZodDefault<T>) => schema.unwrap().optional();

const Shortlink = z.object({ shortlink: shortlink.unwrap() });

export default [
  route({
    method: 'get',
    path: '/settings',
    summary: 'Get settings of the organization',
    description: 'The default where nothing was decided.',
    auth: ['session'],
    permission: 'settings:read',
    answer: OrgSettings,
    handle: ({ rooms, principal }) => rooms.organizations.get(principal.orgId),
    present: presentSettings,
  }),

  route({
    method: 'put',
    path: '/settings',
    summary: 'Change settings of the organization',
    description: 'What is absent keeps its value.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: z.strictObject({
      timezone: z.string().refine(isTimezone, 'not an IANA time zone').optional(),
      approvalRequired: field(approvalRequired),
      missedPolicy: unbuilt((value) => value === HOLDS.missedPolicy),
      reconnectPolicy: field(reconnectPolicy),
      shortlink: field(shortlink),
      defaultShortlinkProviderId: field(defaultShortlinkProviderId),
    }),
    answer: OrgSettings,
    handle: ({ rooms, principal, body, request }) =>
      rooms.organizations.changeSettings(principal.orgId, auditActor({ principal, request }), {
        timezone: body.timezone,
        approvalRequired: body.approvalRequired,
        reconnectPolicy: body.reconnectPolicy,
        shortlink: body.shortlink,
        defaultShortlinkProviderId: body.defaultShortlinkProviderId,
      }),
    present: presentSettings,
  }),

  route({
    method: 'get',
    path: '/settings/shortlink',
    summary: 'Get the short link policy',
    auth: ['session'],
    permission: 'settings:read',
    answer: Shortlink,
    handle: ({ rooms, principal }) => rooms.organizations.settings(principal.orgId),
    present: (settings) => ({ shortlink: settings.shortlink }),
  }),

  route({
    method: 'post',
    path: '/settings/shortlink',
    summary: 'Set the short link policy',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: z.strictObject({ shortlink: shortlink.unwrap() }),
    answer: Shortlink,
    handle: ({ rooms, principal, body, request }) =>
      rooms.organizations.changeSettings(principal.orgId, auditActor({ principal, request }), body),
    present: (row) => ({ shortlink: orgSettingsOf(row).shortlink }),
  }),
];
