import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { textOfHtml } from '../kit/protocols/text.ts';
import { Canonical, FileSetting, Tags, Title, withPictures } from './_articles.ts';
import { type CommentRead, type Post, type Published, social } from './_contract.ts';

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
const User = z.object({
  id: z.number(),
  username: z.string(),
  name: z.string().nullish(),
  profile_image: z.url().nullish(),
});
interface Answered {
  id_code: string;
  created_at: string;
  body_html: string;
  user: { user_id?: number | null | undefined; username?: string | null | undefined; name?: string | null | undefined };
  children: Answered[];
}
const Comment: z.ZodType<Answered> = z.lazy(() =>
  z.object({
    id_code: z.string(),
    created_at: z.string(),
    body_html: z.string(),
    user: z.object({ user_id: z.number().nullish(), username: z.string().nullish(), name: z.string().nullish() }),
    children: z.array(Comment),
  }),
);

const PAGE = 100;
const published = ({ id, url }: z.output<typeof Article>): Published => ({ id: String(id), url });
/** Front matter at the beginning would replace the fields of the article. */
const bodyOf = (post: Post): string => withPictures({ ...post, text: post.text.replace(/^---/, '\\---') });

/** https://developers.forem.com/api/v1 */
export default social({
  id: 'devto',
  version: 'v1',
  status: 'active',
  title: 'DEV',
  description: 'Articles in markdown on DEV.',
  website: 'https://dev.to',
  authType: 'api_key',
  setupNotes: 'Make an API key at DEV under Settings > Extensions. Articles cannot be deleted: they are unpublished.',
  credentials: { apiKey: secret('API key') },
  api: 'https://dev.to/api',
  auth: [
    { in: 'header', name: 'api-key', field: 'apiKey' },
    { in: 'header', name: 'accept', text: 'application/vnd.forem.api-v1+json' },
  ],
  login: { kind: 'credentials' },
  once: 'read-back',
  threads: 'none',
  editor: 'markdown',
  limits: { text: 100_000, unit: 'characters', media: 20, mediaTypes: ['image/*'], fetches: ['image'] },
  settings: z.looseObject({
    title: Title(128),
    tags: Tags(4),
    main_image: FileSetting,
    canonical: Canonical,
    organization: z.union([z.string().regex(/^\d{0,18}$/), z.int()]).optional(),
    series: z.string().max(128).optional(),
  }),

  async profile({ http }) {
    const { id, username, name, profile_image: picture } = await http.get('/users/me', User);
    return { id: String(id), name: name || username, handle: `@${username}`, ...(picture && { picture }) };
  },
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
    const own = await http.get('/articles/me/published', z.array(Own), { query: { per_page: String(PAGE) } });
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
  async metrics({ http, posts }) {
    const own = await http.get('/articles/me/published', z.array(Own), { query: { per_page: '1000' } });
    const wanted = new Set(posts.map(({ id }) => id));
    return own
      .filter(({ id }) => wanted.has(String(id)))
      .map((one) => ({
        id: String(one.id),
        counts: {
          ...(one.page_views_count != null && { views: one.page_views_count }),
          ...(one.public_reactions_count != null && { reactions: one.public_reactions_count }),
          ...(one.comments_count != null && { comments: one.comments_count }),
        },
      }));
  },
  metricsAtOnce: 1_000,
  async comments({ http, published: { id } }) {
    const top = await http.get('/comments', z.array(Comment), { query: { a_id: id } });
    return { comments: top.flatMap((one) => withAnswers(one)) };
  },
  tools: {
    tags: {
      description: 'Lists the tags of DEV, most used first',
      data: z.object({}),
      call: async ({ http }) => {
        const tags = await http.get('/tags', z.array(z.object({ name: z.string() })), { query: { per_page: '1000' } });
        return tags.map(({ name }) => ({ value: name, label: name }));
      },
    },
    organizations: {
      description: 'Lists the organizations that own articles of the account belong to',
      data: z.object({}),
      call: async ({ http }) => {
        const own = await http.get('/articles/me/all', z.array(Own), { query: { per_page: String(PAGE) } });
        const all = new Map(
          own.flatMap(({ organization }) => (organization ? [[organization.id, organization.name]] : [])),
        );
        return [...all].map(([id, name]) => ({ id: String(id), name }));
      },
    },
  },
});

const withAnswers = (
  { id_code: id, body_html, created_at, user, children }: Answered,
  parentId?: string,
): CommentRead[] => [
  {
    id,
    text: textOfHtml(body_html),
    author: { id: String(user.user_id ?? user.username ?? ''), name: user.name ?? user.username ?? '' },
    createdAt: new Date(created_at),
    ...(parentId !== undefined && { parentId }),
  },
  ...children.flatMap((one) => withAnswers(one, id)),
];
