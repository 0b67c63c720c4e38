import { z } from 'zod';
import { singleLine } from '../kit/declare/setting-texts.ts';
import { withoutQueries } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import { Canonical, FileSetting, TagList, Title, withPictures } from './_articles.ts';
import type { Operations, Post, Published } from './_contract.ts';
import { sinceThen } from './_lists.ts';

const TAG = /^[\p{L}\p{N}]{1,30}$/u;
export const Settings = z.looseObject({
  title: Title(128),
  tags: TagList(z.string().regex(TAG), 'a tag has letters and digits only, at most 30').max(4).optional(),
  main_image: FileSetting,
  canonical: Canonical,
  organization: z.union([z.string().regex(/^\d{0,18}$/), z.int()]).optional(),
  series: singleLine(128).optional(),
});
const Article = z.object({ id: z.number(), url: z.url() });
const Own = Article.extend({
  title: z.string(),
  body_markdown: z.string().nullish(),
  published_at: z.coerce.date().nullish(),
  page_views_count: z.number().nullish(),
  public_reactions_count: z.number().nullish(),
  comments_count: z.number().nullish(),
  organization: z.object({ id: z.number(), name: z.string() }).nullish().catch(undefined),
});
/** Each article of a list has its whole text. */
const ANSWER_BYTES = 8 * 1024 * 1024;
const RECENT = 10;
export const PAGE = 30;
/** Own articles, newest first: a page of those that are published, or of drafts with them. */
export const ownArticles = (http: Http, which: 'published' | 'all', { page = 1, size = PAGE } = {}) =>
  http.get(`/articles/me/${which}`, z.array(Own), {
    query: { page: String(page), per_page: String(size) },
    answerBytes: ANSWER_BYTES,
  });
const published = ({ id, url }: z.output<typeof Article>): Published => ({ id: String(id), url });
/** Front matter at the beginning would replace the fields of the article. */
const bodyOf = (post: Post): string => withPictures({ ...post, text: post.text.replace(/^---/, '\\---') });
/** Characters that stand in a title whatever happens: DEV replaces some others by blanks, and joins blanks. */
const lettersOf = (title: string): string => title.replace(/[^\p{L}\p{N}]+/gu, '');

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
    const own = await ownArticles(http, 'published', { size: RECENT });
    // a signed address of a picture is another one each time
    const [title, body] = [lettersOf(settings.title), withoutQueries(bodyOf(post))];
    return sinceThen(own, RECENT, ({ published_at: at }) => !!at && at >= since)
      .filter(
        ({ title: told, body_markdown: text }) => lettersOf(told) === title && withoutQueries(text ?? body) === body,
      )
      .map(published);
  },
  async remove({ http, published: { id } }) {
    const article = { published: false };
    await http.put(`/articles/${id}`, z.unknown(), { json: { article }, accepts: [404] });
  },
} satisfies Operations<typeof Settings>;
