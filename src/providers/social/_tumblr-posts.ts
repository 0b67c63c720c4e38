import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Post, Published } from './_contract.ts';

/** Codes of https://www.tumblr.com/docs/en/api/v2 that their status does not tell: daily quotas, a video at work. */
const CODES: Readonly<Record<number, ProviderFailure>> = {
  8004: 'rate_limited',
  8010: 'unavailable',
  8011: 'rate_limited',
  8022: 'rate_limited',
  8023: 'rate_limited',
};
const code = z
  .int()
  .transform((value) => CODES[value])
  .pipe(z.custom<ProviderFailure>((value) => value !== undefined));
export const Failure = z
  .object({ errors: z.tuple([z.object({ code })]).rest(z.unknown()) })
  .transform(({ errors }) => errors[0].code);

const address = z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional();
const Tag = z.union([z.string(), z.object({ value: z.string() }).transform(({ value }) => value)]);
export const Settings = z.looseObject({
  title: z.string().max(4_096).optional(),
  link: address,
  sourceUrl: address,
  tags: z
    .union([
      z.string().max(1_000),
      z
        .array(Tag)
        .max(30)
        .transform((tags) => tags.join(',')),
    ])
    .optional(),
});
type Chosen = z.output<typeof Settings>;

export const answered = <S extends z.ZodType>(response: S) => z.object({ response });
const Block = z.object({ type: z.string(), subtype: z.string().optional(), text: z.string().optional() });
const TumblrPost = z.object({
  id_string: z.string(),
  post_url: z.string(),
  timestamp: z.int().transform((seconds) => new Date(seconds * 1_000)),
  state: z.string().optional(),
  content: z.array(Block).default([]),
  reblog_key: z.string().optional(),
  parent_post_id: z.union([z.string(), z.number()]).nullish(),
});

const BLOCK_CHARACTERS = 4_096;
const chunks = (text: string): string[] => {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / BLOCK_CHARACTERS) }, (_, n) =>
    characters.slice(n * BLOCK_CHARACTERS, (n + 1) * BLOCK_CHARACTERS).join(''),
  );
};
const paragraphs = (text: string): string[] => text.split(/\n{2,}/).flatMap(chunks);
const nameOf = (index: number) => `file${index}`;

/** A post in the Neue Post Format; files are parts of the form, by their names. */
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

/** `saved`: the blog of a post, which its readers and reblogs name. */
const Saved = z.object({ blog: z.string() }).optional().catch(undefined);
export const blogOf = ({ url, saved }: Published): string =>
  Saved.parse(saved)?.blog ?? /tumblr\.com\/([\w-]+)\//.exec(url)?.[1] ?? '';
export const postAt = (blog: string, id: string, url: string): Published => ({
  id,
  url,
  saved: { blog },
});

export const readPost = (http: Http, blog: string, id: string) =>
  http.find(`/blog/${blog}/posts/${id}`, answered(TumblrPost));

interface Sought {
  post: Post;
  since: Date;
  title?: string | undefined;
  /** The post that it reblogs. */
  parent?: string | undefined;
}
/** Answers own posts with the same text, number of files and parent. */
export async function ownPosts(http: Http, blog: string, { post, since, title, parent }: Sought): Promise<Published[]> {
  const query = { limit: '20', npf: 'true' };
  const { response } = await http.get(`/blog/${blog}/posts`, answered(z.object({ posts: z.array(TumblrPost) })), {
    query,
  });
  const sought = [...(title ? [title] : []), ...paragraphs(post.text)].join('\n');
  return response.posts
    .filter(({ content, timestamp, parent_post_id: of }) => {
      const text = content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])).join('\n');
      const files = content.filter(({ type }) => type === 'image' || type === 'video');
      const isOf = (of == null ? undefined : String(of)) === parent;
      return timestamp >= since && isOf && text === sought && files.length === post.media.length;
    })
    .map(({ id_string: id, post_url: url }) => postAt(blog, id, url));
}
