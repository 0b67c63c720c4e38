import { z } from 'zod';
import type { BrandKitRow } from '../../../src/library/brand-kits/index.ts';
import { nameText } from '../../http/fields.ts';

const Words = z.string().nullable();
/** What an organization looks and sounds like (S190). */
export const BrandKit = z.strictObject({
  id: z.string(),
  name: z.string(),
  colors: z.array(z.string()),
  fonts: z.array(z.strictObject({ role: z.string(), family: z.string() })),
  logos: z.array(z.string()).meta({ description: 'Ids of files.' }),
  voice: Words,
  tone: Words,
  audience: Words,
  hashtags: z.array(z.string()),
  doList: z.array(z.string()),
  dontList: z.array(z.string()),
  isDefault: z.boolean(),
});
export const presentBrandKit = (row: BrandKitRow): z.input<typeof BrandKit> => ({
  id: row.id,
  name: row.name,
  colors: row.colors,
  fonts: row.fonts.map(({ role, family }) => ({ role, family })),
  logos: row.logos,
  voice: row.voice,
  tone: row.tone,
  audience: row.audience,
  hashtags: row.hashtags,
  doList: row.doList,
  dontList: row.dontList,
  isDefault: row.isDefault,
});

const line = nameText(1, 500);
const text = z.string().trim().max(5_000).nullish();
const Fields = {
  colors: z
    .array(z.string().regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i, 'must be a color such as #612AD5'))
    .max(50)
    .optional(),
  fonts: z
    .array(z.strictObject({ role: nameText(1, 50), family: nameText(1, 200) }))
    .max(20)
    .optional(),
  logos: z.array(z.string().max(255)).max(20).optional(),
  voice: text,
  tone: text,
  audience: text,
  hashtags: z.array(nameText(1, 100)).max(100).optional(),
  doList: z.array(line).max(100).optional(),
  dontList: z.array(line).max(100).optional(),
  isDefault: z.boolean().optional().meta({ description: 'The one that was the default before is not any more.' }),
};
export const NewBrandKit = z.strictObject({ name: nameText(1, 100), ...Fields });
export const BrandKitChange = NewBrandKit.partial();
