import { z } from 'zod';
import { pageShape } from '../../http/fields.ts';
import { BrandKit, presentBrandKit } from '../../resources/brand-kits/shape.ts';
import { brandKitId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

const tool = toolsOf('brandKits');
const MOST = 100;

// What agents read by an address alone: no list of tools shows them.

export const readBrandKits = tool({
  name: 'read_brand_kits',
  title: 'Brand kits',
  description: 'The names of the newest brand kits. Each is read by its id.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:read',
  permission: 'brand_kits:read',
  input: z.strictObject({}),
  output: pageShape(BrandKit.pick({ id: true, name: true, isDefault: true })),
  untrusted: ['/items/*/name'],
  async run({ rooms, principal }) {
    const { items, nextCursor } = await rooms.brandKits.listBrandKits(principal.orgId, { limit: MOST });
    return { items: items.map(({ id, name, isDefault }) => ({ id, name, isDefault })), nextCursor };
  },
});

export const readBrandKit = tool({
  name: 'read_brand_kit',
  title: 'Brand kit',
  description: 'What the organization looks and sounds like: colors, fonts, logos, voice and tone.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:read',
  permission: 'brand_kits:read',
  input: z.strictObject({ id: brandKitId }),
  output: BrandKit,
  untrusted: ['/name', '/voice', '/tone', '/audience', '/hashtags/*', '/doList/*', '/dontList/*', '/fonts/*/*'],
  run: async ({ rooms, principal, input }) =>
    presentBrandKit(await rooms.brandKits.getBrandKit(principal.orgId, input.id)),
});
