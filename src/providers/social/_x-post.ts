import { z } from 'zod';
import { singleLine } from '../kit/declare/setting-texts.ts';
import { findLinks } from '../kit/protocols/text.ts';
import { FileSetting } from './_articles.ts';
import type { Media, Post, Published } from './_contract.ts';

const Community = z
  .string()
  .regex(/^(?:(?:https:\/\/(?:x|twitter)\.com\/i\/communities\/)?\d{1,19}\/?)?$/)
  .transform((said) => /\d+/.exec(said)?.[0])
  .optional();
export const Settings = z
  .looseObject({
    who_can_reply_post: z.enum(['everyone', 'following', 'mentionedUsers', 'subscribers', 'verified']).optional(),
    community: Community,
    made_with_ai: z.boolean().optional(),
    paid_partnership: z.boolean().optional(),
    post_type: z.enum(['post', 'article']).default('post'),
    article_title: singleLine(100).optional(),
    article_status: z.enum(['draft', 'published']).default('published'),
    article_cover: FileSetting,
  })
  .refine(({ post_type, article_title }) => post_type === 'post' || article_title, {
    path: ['article_title'],
    message: 'is needed for an article',
  });
export type Settings = z.output<typeof Settings>;
type Thread = { thread: readonly Published[] };

export const published = (id: string): Published => ({ id, url: `https://x.com/i/web/status/${id}` });
/** Later items of a thread are posts, whatever the first one is. */
export const isArticle = ({ post_type }: Settings, isLater: boolean): boolean => post_type === 'article' && !isLater;
/** The files to upload in order: of an article its cover first. */
export const filesOf = ({ media, files }: Post, article: boolean): Media[] => [
  ...(article && files?.['article_cover'] ? [files['article_cover']] : []),
  ...media,
];

/** The body of a post. Who can answer, and the community, are those of the first item of a thread. */
export function bodyOf(
  { text }: Pick<Post, 'text'>,
  { who_can_reply_post: who, community, made_with_ai, paid_partnership }: Settings,
  { thread, ids }: Thread & { ids: readonly string[] },
) {
  const parent = thread.at(-1);
  return {
    text,
    ...(ids.length > 0 && { media: { media_ids: ids } }),
    ...(parent && { reply: { in_reply_to_tweet_id: parent.id } }),
    ...(!parent && who && who !== 'everyone' && { reply_settings: who }),
    ...(!parent && community && { community_id: community }),
    ...(made_with_ai && { made_with_ai }),
    ...(paid_partnership && { paid_partnership }),
  };
}

const stored = (media_id: string) => ({ media_category: 'tweet_image', media_id });
/** The body of the draft of an article: a block for each paragraph, its links as entities, and the pictures below. */
export function draftOf({ text, files }: Post, { article_title: title }: Settings, ids: readonly string[]) {
  const entities: { key: string; value: object }[] = [];
  const entity = (value: object, offset: number, length: number) => {
    const key = entities.push({ key: String(entities.length), value }) - 1;
    return { key, offset, length };
  };
  const hasCover = files?.['article_cover'] !== undefined;
  const paragraphs = text.split(/\n+/).map((line) => ({
    type: 'unstyled',
    text: line,
    entity_ranges: [...findLinks(line)].map(({ value: url, start, end }) =>
      entity({ type: 'link', mutability: 'mutable', data: { url } }, start, end - start),
    ),
  }));
  const pictures = ids.slice(hasCover ? 1 : 0).map((id) => ({
    type: 'atomic',
    text: ' ',
    entity_ranges: [entity({ type: 'image', mutability: 'immutable', data: { media_items: [stored(id)] } }, 0, 1)],
  }));
  return {
    title,
    content_state: { blocks: [...paragraphs, ...pictures], entities },
    ...(hasCover && { cover_media: stored(ids[0]!) }),
  };
}
