import { z } from 'zod';
import type { Media, Post } from './_contract.ts';
import { publicUrlOf } from './_limits.ts';

// What networks for articles have in common: settings that name a title, a cover and tags, and files inside the text.

/** A file chosen in a setting: its public address, or the file as the library shows it. */
export const FileSetting = z
  .union([
    z.url({ protocol: /^https?$/ }),
    z.object({ path: z.url({ protocol: /^https?$/ }) }).transform(({ path }) => path),
  ])
  .optional();
/** The address at which an article was published first. */
export const Canonical = z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional();
const Tag = z.union([z.string(), z.object({ value: z.string() }).transform(({ value }) => value)]);
/** Tags as texts, or as the form sends them. */
export const Tags = (most: number) => z.array(Tag).max(most).optional();

/** The text in markdown with its pictures below it, at their public addresses. */
export const withPictures = ({ text, media }: Pick<Post, 'text' | 'media'>): string =>
  [text, ...media.map((file: Media) => `![${file.alt.replace(/[[\]\\]/g, '\\$&')}](${publicUrlOf(file)})`)].join(
    '\n\n',
  );
