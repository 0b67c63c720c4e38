import type { McpPolicy } from '../../../src/people/organizations/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { OrgMcp } from './mcp.shape.ts';

const route = routesOf('organizations');

const shape = { answer: OrgMcp, present: (policy: McpPolicy) => policy };

export default [
  route({
    ...shape,
    method: 'get',
    path: '/settings/mcp',
    summary: 'Get what programs may do by MCP',
    description: '`allowedScopes` is null where nothing is restricted.',
    auth: ['session'],
    permission: 'settings:read',
    handle: ({ rooms, principal }) => rooms.organizations.mcpPolicy(principal.orgId),
  }),
  route({
    ...shape,
    method: 'put',
    path: '/settings/mcp',
    summary: 'Set what programs may do by MCP',
    description:
      'API keys have no other scopes than `allowedScopes`, with an empty list none; access tokens keep `mcp:read`.',
    auth: ['session'],
    permission: 'settings:update',
    body: OrgMcp.extend({ allowProposals: OrgMcp.shape.allowProposals.default(false) }),
    handle: ({ rooms, principal, body, request }) =>
      rooms.organizations.changeMcpPolicy(principal.orgId, auditActor({ principal, request }), body),
  }),
];
