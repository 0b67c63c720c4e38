import { z } from 'zod';
import type { CampaignRow } from '../../../src/publishing/posts/index.ts';
import { dateText, nameText } from '../../http/fields.ts';
import { TagColor } from '../posts/tags.shape.ts';

/** A campaign: a tag with dates (S188). */
export const Campaign = z.strictObject({
  id: z.string(),
  name: z.string(),
  color: z.string(),
  description: z.string(),
  startDate: z.string().nullable(),
  endDate: z.string().nullable(),
  tagId: z.string(),
  posts: z.int(),
});
export const presentCampaign = (row: CampaignRow): z.input<typeof Campaign> => ({
  id: row.id,
  name: row.name,
  color: row.color,
  description: row.description,
  startDate: row.startDate,
  endDate: row.endDate,
  tagId: row.tagId,
  posts: row.posts,
});

const Fields = {
  color: TagColor.optional(),
  description: z.string().trim().max(2_000).optional(),
  startDate: dateText.nullish(),
  endDate: dateText.nullish().meta({ description: 'The last day.' }),
};
export const NewCampaign = z.strictObject({
  name: nameText(1, 255).optional(),
  tagId: z.string().max(255).optional().meta({
    description: 'A tag that there is, in the place of `name` and `color`: what carries it is in the campaign.',
  }),
  ...Fields,
});
export const CampaignChange = z.strictObject({ name: nameText(1, 255).optional(), ...Fields });
