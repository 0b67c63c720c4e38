import { z } from 'zod';
import { PERMISSIONS, SCOPES } from '../../../src/people/access/index.ts';
import { TIERS } from '../../../src/entitlements/index.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('identity');

const Me = z.strictObject({
  userId: z.string(),
  orgId: z.string(),
  orgName: z.string(),
  role: z.string().meta({ description: 'A system role, or the id of a role of the organization.' }),
  permissions: z.array(z.enum(PERMISSIONS)),
  scopes: z.array(z.enum(SCOPES)).nullable().meta({
    description: 'What an access token may do at most; null for an API key, which has the rights of its role.',
  }),
  tier: z.enum(TIERS).meta({ description: 'The plan under which the credential works.' }),
});

export default [
  route({
    method: 'get',
    path: '/public/v1/me',
    summary: 'Get the caller',
    description: 'The person, the organization and the rights that the credential stands for.',
    auth: ['api-key', 'oauth'],
    answer: Me,
    async handle({ rooms, principal }) {
      const { orgName } = await rooms.identity.self(principal.orgId, principal.userId);
      return { ...principal, orgName };
    },
    present: ({ userId, orgId, orgName, roleKey, permissions, scopes, plan }) => ({
      userId,
      orgId,
      orgName,
      role: roleKey,
      permissions: PERMISSIONS.filter((permission) => permissions.has(permission)),
      scopes: scopes ? SCOPES.filter((scope) => scopes.has(scope)) : null,
      tier: plan!, // every client has one
    }),
  }),
];
