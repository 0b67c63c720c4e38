import { z } from 'zod';
import { pageShape } from '../../http/fields.ts';
import { isId } from '../../../src/platform/kernel/index.ts';
import { BrandKit, presentBrandKit } from '../../resources/brand-kits/shape.ts';
import { brandKitId } from '../fields.ts';
import { fitting } from '../pages.ts';
import { toolsOf } from '../tool.ts';

const tool = toolsOf('brandKits');
const MOST = 100;

// What agents read by an address alone: no list of tools shows them.

export const readBrandKits = tool({
  name: 'read_brand_kits',
  title: 'Brand kits',
  description: 'The names of the newest brand kits. Each is read by its id.',
  readAt: { template: 'rookery://brand-kits', name: 'brand-kits' },
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:read',
  permission: 'brand_kits:read',
  input: z.strictObject({ cursor: z.string().refine(isId, 'is not the nextCursor of an answer').optional() }),
  output: pageShape(BrandKit.pick({ id: true, name: true, isDefault: true })),
  untrusted: ['/items/*/name'],
  async run({ rooms, principal, input: { cursor } }) {
    const found = await rooms.brandKits.listBrandKits(principal.orgId, { limit: MOST, cursor });
    const kits = found.items.map(({ id, name, isDefault }) => ({ id, name, isDefault }));
    const items = kits.slice(0, fitting(kits));
    return { items, nextCursor: items.length < kits.length ? items.at(-1)!.id : found.nextCursor };
  },
});

export const readBrandKit = tool({
  name: 'read_brand_kit',
  title: 'Brand kit',
  description: 'What the organization looks and sounds like: colors, fonts, logos, voice and tone.',
  readAt: { template: 'rookery://brand-kits/{id}', name: 'brand-kit' },
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:read',
  permission: 'brand_kits:read',
  input: z.strictObject({ id: brandKitId }),
  output: BrandKit,
  untrusted: ['/name', '/voice', '/tone', '/audience', '/hashtags/*', '/doList/*', '/dontList/*', '/fonts/*/*'],
  run: async ({ rooms, principal, input }) =>
    presentBrandKit(await rooms.brandKits.getBrandKit(principal.orgId, input.id)),
});
