import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Limits, Operations, Published } from './_contract.ts';
import { checkFiles } from './_limits.ts';
import { repeated, similar } from './_x-own.ts';
import { bodyOf, draftOf, filesOf, isArticle, published, type Settings } from './_x-post.ts';
import { GIF_BYTES, IMAGE_BYTES, Saved, uploadStep } from './_x-upload.ts';

const ARTICLE = {
  text: 100_000,
  unit: 'characters',
  media: 20,
  mediaTypes: ['image/*'],
  image: {},
  animated: { bytes: GIF_BYTES },
  single: true,
} as const;
export const LIMITS: Limits = {
  text: 280,
  unit: 'weighted',
  media: 4,
  oneKind: true,
  mediaTypes: ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'video/mp4', 'video/quicktime', 'video/webm'],
  image: { bytes: IMAGE_BYTES },
  video: { count: 1, bytes: 512_000_000, seconds: [0.5, 140], ratio: [1 / 3, 3] },
  animated: { bytes: GIF_BYTES, beside: 0 },
  byType: { setting: 'post_type', limits: { article: ARTICLE } },
};

/** A draft is not among the posts. */
const DRAFT = [{ post_type: 'article', article_status: 'draft' }] as const;
const Made = z.object({ data: z.object({ id: z.string() }) });
const create = async (http: Http, json: object): Promise<Published> =>
  published((await http.post('/tweets', Made, { json, creates: true })).data.id);

/** Posts, threads, articles and replies, and reposts. */
export const xPosts = {
  async prepare({ post, settings, isLater, saved, ...line }) {
    const article = isArticle(settings, isLater);
    const state = Saved.parse(saved);
    // the limits of a network with limits of its own by account are the adapter's to check
    const [issue] = checkFiles(article ? { ...LIMITS, ...ARTICLE } : LIMITS, post.media);
    if (issue) throw refused('rejected', issue.message);
    const next = filesOf(post, article)[state.ids.length];
    if (next) return uploadStep(line, next, state);
    if (article && state.draft === undefined) {
      const json = draftOf(post, settings, state.ids);
      const { data } = await line.http.post('/articles/draft', Made, { json });
      await line.save({ ids: state.ids, draft: data.id });
    }
    return 'ready';
  },
  async publish({ http, post, settings, thread, saved }) {
    const { ids, draft } = Saved.parse(saved);
    if (!isArticle(settings, thread.length > 0)) return create(http, bodyOf(post, settings, { thread, ids }));
    if (settings.article_status === 'draft') return { id: draft!, url: `https://x.com/compose/articles/edit/${draft}` };
    const Article = z.object({ data: z.object({ post_id: z.string() }) });
    const { data } = await http.post(`/articles/${draft}/publish`, Article, { creates: true });
    return published(data.post_id);
  },
  find: ({ post, settings, thread, ...own }) =>
    similar(own, {
      text: post.text, // X answers what was sent
      parent: thread.at(-1)?.id,
      media: post.media.length,
      ...(isArticle(settings, thread.length > 0) && { title: settings.article_title }),
    }),
  remove: ({ http, published: { id } }) => http.delete(`/tweets/${id}`),
  comment: {
    once: 'read-back',
    replies: true,
    unless: DRAFT,
    send: ({ http, post, published: of, parent }) =>
      create(http, { text: post.text, reply: { in_reply_to_tweet_id: (parent ?? of).id } }),
    find: ({ post, published: of, parent, ...own }) =>
      similar(own, { text: post.text, parent: (parent ?? of).id, media: 0 }),
  },
  repost: {
    once: 'read-back',
    unless: DRAFT,
    async send({ http, account, repost: { published: of } }) {
      const Reposted = z.object({ data: z.object({ retweeted: z.literal(true) }) });
      await http.post(`/users/${account}/retweets`, Reposted, { json: { tweet_id: of.id }, creates: true });
      return published(of.id);
    },
    find: ({ repost, ...own }) => repeated(own, repost.published),
  },
} satisfies Operations<typeof Settings>;
