import { z } from 'zod';
import { ListPage, pageShape } from '../../http/fields.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { routesOf } from '../../http/route.ts';
import { BrandKit, BrandKitChange, NewBrandKit, presentBrandKit } from './shape.ts';

const route = routesOf('brandKits');

export default [
  route({
    method: 'get',
    path: '/brand-kits',
    summary: 'List brand kits',
    description: 'The newest first.',
    auth: ['session'],
    permission: 'brand_kits:read',
    query: ListPage,
    answer: pageShape(BrandKit),
    handle: ({ rooms, principal, query }) => rooms.brandKits.listBrandKits(principal.orgId, query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentBrandKit), nextCursor }),
  }),
  route({
    method: 'post',
    path: '/brand-kits',
    summary: 'Create a brand kit',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'brand_kits:create',
    planLimit: 'brand_kits',
    idempotent: true,
    creates: true,
    body: NewBrandKit,
    answer: BrandKit,
    handle: ({ rooms, principal: { orgId, userId }, body, idempotency }) =>
      rooms.brandKits.createBrandKit(
        orgId,
        { ...body, createdBy: userId },
        keptAnswer(idempotency, 201, presentBrandKit),
      ),
    present: presentBrandKit,
  }),
  route({
    method: 'get',
    path: '/brand-kits/:id',
    summary: 'Get a brand kit',
    auth: ['session'],
    permission: 'brand_kits:read',
    answer: BrandKit,
    handle: ({ rooms, principal, params: { id } }) => rooms.brandKits.getBrandKit(principal.orgId, id),
    present: presentBrandKit,
  }),
  ...(['put', 'patch'] as const).map((method) =>
    route({
      method,
      path: '/brand-kits/:id',
      summary: 'Change a brand kit',
      description: 'A field that is absent keeps its value; null clears a text.',
      auth: ['session'],
      impersonation: 'allowed',
      permission: 'brand_kits:update',
      body: BrandKitChange,
      answer: BrandKit,
      handle: ({ rooms, principal, params: { id }, body }) => rooms.brandKits.changeBrandKit(principal.orgId, id, body),
      present: presentBrandKit,
    }),
  ),
  route({
    method: 'delete',
    path: '/brand-kits/:id',
    summary: 'Delete a brand kit',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'brand_kits:delete',
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, principal, params: { id } }) {
      await rooms.brandKits.removeBrandKit(principal.orgId, id);
      return { id };
    },
    present: (removed) => removed,
  }),
];
