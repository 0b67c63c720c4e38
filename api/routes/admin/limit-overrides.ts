import { z } from 'zod';
import { DIMENSIONS, overrideLimits } from '../../../src/entitlements/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { route } from '../../http/route.ts';

const numbers = z.record(z.string(), z.int());

export default [
  route({
    method: 'patch',
    path: '/admin/orgs/:orgId/limit-overrides',
    summary: 'Sets limits of an org by hand: a number sets, null clears, an absent key stays.',
    auth: ['super-admin'],
    body: z.strictObject({ overrides: z.partialRecord(z.enum(DIMENSIONS), z.int().min(0).nullable()) }),
    answer: z.strictObject({ orgId: z.string(), overrides: numbers, effective: numbers }),
    async handle({ ctx, params, body, ...call }) {
      const orgId = params['orgId']!;
      const overrides = await overrideLimits(ctx, orgId, auditActor(call), body.overrides as Record<string, number | null>);
      return { orgId, overrides, limits: (await ctx.billing.usage(orgId)).limits };
    },
    present: ({ orgId, overrides, limits }) => ({
      orgId,
      overrides: { ...overrides } as Record<string, number>,
      effective: Object.fromEntries(DIMENSIONS.map((key) => [key, limits[key].effective])),
    }),
  }),
];
