import { z } from 'zod';
import { Canonical, FileSetting, TagList, Title, withPictures } from './_articles.ts';
import type { Operations, Post, Published } from './_contract.ts';

const TAG = /^[\p{L}\p{N}]{1,30}$/u;
export const Settings = z.looseObject({
  title: Title(128),
  tags: TagList(z.string().regex(TAG), 'a tag has letters and digits only, at most 30').max(4).optional(),
  main_image: FileSetting,
  canonical: Canonical,
  organization: z.union([z.string().regex(/^\d{0,18}$/), z.int()]).optional(),
  series: z.string().max(128).optional(),
});
const Article = z.object({ id: z.number(), url: z.url() });
export const Own = Article.extend({
  title: z.string(),
  body_markdown: z.string().nullish(),
  published_at: z.coerce.date().nullish(),
  page_views_count: z.number().nullish(),
  public_reactions_count: z.number().nullish(),
  comments_count: z.number().nullish(),
  organization: z.object({ id: z.number(), name: z.string() }).nullish().catch(undefined),
});
const PAGE = '100';
const published = ({ id, url }: z.output<typeof Article>): Published => ({ id: String(id), url });
/** Front matter at the beginning would replace the fields of the article. */
const bodyOf = (post: Post): string => withPictures({ ...post, text: post.text.replace(/^---/, '\\---') });

/** Articles; one that is removed is unpublished. */
export const devtoArticles = {
  async publish({ http, post, settings: { title, tags, main_image, canonical, organization, series } }) {
    const article = {
      title,
      body_markdown: bodyOf(post),
      published: true,
      ...(tags?.length && { tags }),
      ...(main_image && { main_image }),
      ...(canonical && { canonical_url: canonical }),
      ...(organization && { organization_id: Number(organization) }),
      ...(series && { series }),
    };
    return published(await http.post('/articles', Article, { json: { article }, creates: true }));
  },
  async find({ http, post, settings, since }) {
    const own = await http.get('/articles/me/published', z.array(Own), { query: { per_page: PAGE } });
    return own
      .filter(
        ({ title, body_markdown, published_at: at }) =>
          at && at >= since && title === settings.title && (body_markdown ?? bodyOf(post)) === bodyOf(post),
      )
      .map(published);
  },
  async remove({ http, published: { id } }) {
    const article = { published: false };
    await http.put(`/articles/${id}`, z.unknown(), { json: { article }, accepts: [404] });
  },
} satisfies Operations<typeof Settings>;
