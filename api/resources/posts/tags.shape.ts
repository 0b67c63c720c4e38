import { z } from 'zod';
import type { TagRow } from '../../../src/publishing/posts/index.ts';
import { nameText } from '../../http/fields.ts';

/** A tag of posts (S187). */
export const Tag = z.strictObject({ id: z.string(), name: z.string(), color: z.string() });
export const TagList = z.strictObject({ tags: z.array(Tag) });
export const presentTag = ({ id, name, color }: TagRow): z.input<typeof Tag> => ({ id, name, color });
export const presentTags = (tags: readonly TagRow[]): z.input<typeof TagList> => ({ tags: tags.map(presentTag) });

export const TagColor = z
  .string()
  .regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})$/i, 'must be a color such as #612AD5');
export const NewTag = z.strictObject({ name: nameText(1, 255), color: TagColor.optional() });
export const TagChange = NewTag.partial();
