import { z } from 'zod';
import { singleLine } from '../kit/declare/setting-texts.ts';
import { Canonical, TagList } from './_articles.ts';
import type { Post } from './_contract.ts';

// A post in the Neue Post Format.

export const IMAGE_BYTES = 20_000_000;
export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

export const Settings = z.looseObject({
  title: singleLine(4_096).optional(),
  link: Canonical,
  sourceUrl: Canonical,
  tags: z
    .union([
      singleLine(1_000),
      TagList(singleLine(140), 'a tag has at most 140 characters')
        .max(30)
        .transform((tags) => tags.join(',')),
    ])
    .optional(),
});
type Chosen = z.output<typeof Settings>;

const BLOCK_CHARACTERS = 4_096;
const chunks = (text: string): string[] => {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / BLOCK_CHARACTERS) }, (_, n) =>
    characters.slice(n * BLOCK_CHARACTERS, (n + 1) * BLOCK_CHARACTERS).join(''),
  );
};
export const paragraphs = (text: string): string[] => text.split(/\n{2,}/).flatMap(chunks);
const nameOf = (index: number) => `file${index}`;

/** Files are parts of the form, by their names. */
export function written({ text, media }: Post, { title, link, sourceUrl, tags }: Partial<Chosen> = {}) {
  const files = media.map(({ kind, contentType: type, alt }, n) =>
    kind === 'video'
      ? { type: 'video', provider: 'tumblr', media: { type, identifier: nameOf(n) } }
      : { type: 'image', media: [{ type, identifier: nameOf(n) }], ...(alt && { alt_text: alt }) },
  );
  return {
    content: [
      ...(title ? [{ type: 'text', subtype: 'heading1', text: title }] : []),
      ...files,
      ...paragraphs(text).map((paragraph) => ({ type: 'text', text: paragraph })),
      ...(link ? [{ type: 'link', url: link }] : []),
    ],
    state: 'published',
    ...(tags && { tags }),
    ...(sourceUrl && { source_url: sourceUrl }),
  };
}
/** The form of a post with files. */
export const formOf = (json: object, { media }: Post) => ({
  json: JSON.stringify(json),
  ...Object.fromEntries(media.map((file, n) => [nameOf(n), file])),
});
