import { z } from 'zod';
import { DIMENSIONS, TIERS } from '../../../src/entitlements/index.ts';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { SearchPage } from '../../http/fields.ts';
import { type Call, routesOf } from '../../http/route.ts';
import { Org, presentOrg } from './admin.shape.ts';

const route = routesOf('admin', 'billing', 'clock');

const Limit = z.strictObject({
  plan: z.number(),
  addons: z.number(),
  override: z.number().nullable(),
  effective: z.number(),
  used: z.number(),
});
const numbers = z.record(z.string(), z.int());
const Detail = Org.extend({ limits: z.record(z.string(), Limit) });

type Rooms = Call<'admin' | 'billing' | 'clock'>['rooms'];
const shown = ({ billing, clock }: Rooms) => ({ billing: billing.enabled, now: clock.now() });
/** The org with what it may have and has. */
async function whole(rooms: Rooms, orgId: string) {
  const row = await rooms.admin.orgs.get(orgId);
  const { limits } = await rooms.billing.usage(orgId);
  return { ...presentOrg(row, shown(rooms)), limits };
}

export default [
  route({
    method: 'get',
    path: '/admin/orgs',
    summary: 'List organizations of the instance',
    description: 'Newest first.',
    auth: ['super-admin'],
    query: SearchPage,
    answer: z.strictObject({ items: z.array(Org), nextCursor: z.string().nullable() }),
    async handle({ rooms, query }) {
      const { items, nextCursor } = await rooms.admin.orgs.list(query);
      return { items: items.map((row) => presentOrg(row, shown(rooms))), nextCursor };
    },
    present: (page) => page,
  }),

  route({
    method: 'get',
    path: '/admin/orgs/:orgId',
    summary: 'Get an organization with its limits',
    auth: ['super-admin'],
    answer: Detail,
    handle: ({ rooms, params }) => whole(rooms, params.orgId),
    present: (org) => org,
  }),

  route({
    method: 'patch',
    path: '/admin/orgs/:orgId',
    summary: 'Change the status or plan of an organization',
    description:
      '`disabled`: its members, keys and tokens are refused, and what is queued waits. `tier` gives it a plan by hand.',
    auth: ['super-admin'],
    body: z
      .strictObject({ disabled: z.boolean().optional(), tier: z.enum(TIERS).optional() })
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'name what is to change: disabled or tier',
      ),
    answer: Detail,
    async handle({ rooms, principal, params, body, request }) {
      const orgId = params.orgId;
      if (body.disabled && orgId === principal.orgId)
        throw new AppError('conflict', 'You act for this organization: switch to another one first');
      await rooms.admin.orgs.change(auditActor({ principal, request }), orgId, body);
      return whole(rooms, orgId);
    },
    present: (org) => org,
  }),

  route({
    method: 'patch',
    path: '/admin/orgs/:orgId/limit-overrides',
    summary: 'Override limits of an organization',
    description: 'A number sets, null clears, an absent key stays.',
    auth: ['super-admin'],
    body: z.strictObject({ overrides: z.partialRecord(z.enum(DIMENSIONS), z.int().min(0).nullable()) }),
    answer: z.strictObject({ orgId: z.string(), overrides: numbers, effective: numbers }),
    async handle({ rooms, params, body, ...call }) {
      const orgId = params.orgId;
      const overrides = await rooms.billing.overrideLimits(
        orgId,
        auditActor(call),
        body.overrides as Record<string, number | null>,
      );
      return { orgId, overrides, limits: (await rooms.billing.usage(orgId)).limits };
    },
    present: ({ orgId, overrides, limits }) => ({
      orgId,
      overrides: { ...overrides } as Record<string, number>,
      effective: Object.fromEntries(DIMENSIONS.map((key) => [key, limits[key].effective])),
    }),
  }),
];
