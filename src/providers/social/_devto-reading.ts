import { z } from 'zod';
import { shownText } from '../../platform/content/index.ts';
import type { CommentTold, Operations } from './_contract.ts';
import { ownArticles, PAGE } from './_devto-articles.ts';
import { allPages } from './_lists.ts';
import { listing } from './_tools.ts';

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

const withAnswers = (
  { id_code: id, body_html, created_at, user, children }: Answered,
  parentId?: string,
): CommentTold[] => [
  {
    id,
    text: shownText(body_html),
    author: { id: String(user.user_id ?? user.username ?? ''), name: user.name ?? user.username ?? '' },
    createdAt: new Date(created_at),
    parentId,
  },
  ...children.flatMap((one) => withAnswers(one, id)),
];

const METRICS_AT_ONCE = 1_000;
const METRICS_PAGES = Math.ceil(METRICS_AT_ONCE / PAGE);
const ORGANIZATIONS_PAGES = 4;
/** The page behind this one, which is the last one where it is not full. */
const nextOf = ({ length }: readonly unknown[], page = '1'): string | undefined =>
  length < PAGE ? undefined : String(Number(page) + 1);

/** The account, comments, and what is told of articles. */
export const devtoReading = {
  async profile({ http }) {
    const { id, username, name, profile_image: picture } = await http.get('/users/me', User);
    return { id: String(id), name: name || username, handle: `@${username}`, picture };
  },
  async comments({ http, published: { id } }) {
    const top = await http.get('/comments', z.array(Comment), { query: { a_id: id } });
    return { comments: top.flatMap((one) => withAnswers(one)) };
  },
  async metrics({ http, posts }) {
    const missing = new Set(posts.map(({ id }) => id));
    const found = await allPages(METRICS_PAGES, async (page) => {
      const own = await ownArticles(http, 'published', { page: Number(page ?? 1) });
      const items = own.filter(({ id }) => missing.delete(String(id)));
      return { items, next: missing.size > 0 ? nextOf(own, page) : undefined };
    });
    return found.map(
      ({ id, page_views_count: views, public_reactions_count: reactions, comments_count: comments }) => ({
        id: String(id),
        counts: { views, reactions, comments },
      }),
    );
  },
  metricsAtOnce: METRICS_AT_ONCE,
  tools: {
    tags: listing('Lists the tags of DEV, most used first', async ({ http }) => {
      const tags = await http.get('/tags', z.array(z.object({ name: z.string() })), { query: { per_page: '1000' } });
      return tags.map(({ name }) => ({ value: name, label: name }));
    }),
    organizations: listing('Lists the organizations that own articles of the account belong to', async ({ http }) => {
      const own = await allPages(ORGANIZATIONS_PAGES, async (page) => {
        const items = await ownArticles(http, 'all', { page: Number(page ?? 1) });
        return { items, next: nextOf(items, page) };
      });
      const all = new Map(
        own.flatMap(({ organization }) => (organization ? [[organization.id, organization.name]] : [])),
      );
      return [...all].map(([id, name]) => ({ id: String(id), name }));
    }),
  },
} satisfies Operations;
