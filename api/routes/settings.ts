import { z } from 'zod';
import { isTimezone } from '../../src/identity/index.ts';
import { presentSettings, Settings, settingsOf } from '../../src/organizations/index.ts';
import { doer } from '../http/doer.ts';
import { route } from '../http/route.ts';

// What the org's row keeps, field by field; a body leaves out what it does not change.
const { approvalRequired, missedPolicy, reconnectPolicy, shortlink, defaultShortlinkProviderId, mcp } = Settings.shape;
const { allowedScopes, allowProposals } = mcp.unwrap().shape;
const field = <T extends z.ZodType>(schema: z.ZodDefault<T>) => schema.unwrap().optional();

const OrgSettings = Settings.omit({ mcp: true }).extend({ timezone: z.string() });
const Shortlink = z.object({ shortlink: shortlink.unwrap() });
const Mcp = z.object({ allowedScopes: allowedScopes.unwrap(), allowProposals: allowProposals.unwrap() });

export default [
  route({
    method: 'get',
    path: '/settings',
    summary: 'What the org has decided for itself, with the default where it has not.',
    auth: ['session'],
    permission: 'settings:read',
    answer: OrgSettings,
    handle: ({ ctx, principal }) => ctx.organizations.get(principal.orgId),
    present: presentSettings,
  }),

  route({
    method: 'put',
    path: '/settings',
    summary: 'Changes settings of the org; what is absent keeps its value.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: z.strictObject({
      timezone: z.string().refine(isTimezone, 'not an IANA time zone').optional(),
      approvalRequired: field(approvalRequired),
      missedPolicy: field(missedPolicy),
      reconnectPolicy: field(reconnectPolicy),
      shortlink: field(shortlink),
      defaultShortlinkProviderId: field(defaultShortlinkProviderId),
    }),
    answer: OrgSettings,
    handle: ({ ctx, principal, body, request }) => ctx.organizations.changeSettings(principal.orgId, doer({ principal, request }), body),
    present: presentSettings,
  }),

  route({
    method: 'get',
    path: '/settings/shortlink',
    summary: 'Whether links of posts are shortened.',
    auth: ['session'],
    permission: 'settings:read',
    answer: Shortlink,
    handle: ({ ctx, principal }) => ctx.organizations.settings(principal.orgId),
    present: (settings) => ({ shortlink: settings.shortlink }),
  }),

  route({
    method: 'post',
    path: '/settings/shortlink',
    summary: 'Says whether links of posts are shortened.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: z.strictObject({ shortlink: shortlink.unwrap() }),
    answer: Shortlink,
    handle: ({ ctx, principal, body, request }) => ctx.organizations.changeSettings(principal.orgId, doer({ principal, request }), body),
    present: (row) => ({ shortlink: settingsOf(row).shortlink }),
  }),

  route({
    method: 'get',
    path: '/settings/mcp',
    summary: 'What programs may do over MCP here.',
    auth: ['session'],
    permission: 'settings:read',
    answer: Mcp,
    handle: ({ ctx, principal }) => ctx.organizations.settings(principal.orgId),
    present: (settings) => settings.mcp,
  }),

  route({
    method: 'put',
    path: '/settings/mcp',
    summary: 'Restricts what programs may do over MCP: null does not restrict, an empty list allows nothing.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: z.strictObject({ allowedScopes: field(allowedScopes), allowProposals: field(allowProposals) }),
    answer: Mcp,
    handle: ({ ctx, principal, body, request }) => ctx.organizations.changeMcp(principal.orgId, doer({ principal, request }), body),
    present: (row) => settingsOf(row).mcp,
  }),
];
