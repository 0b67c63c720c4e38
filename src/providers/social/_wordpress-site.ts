import { z } from 'zod';
import type { Field } from '../kit/declare/fields.ts';
import { shownText } from '../../platform/content/index.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Operations } from './_contract.ts';
import { listing, tool } from './_tools.ts';

const User = z.object({
  id: z.number(),
  name: z.string(),
  slug: z.string(),
  avatar_urls: z.record(z.string(), z.string()).nullish().catch(undefined),
});
const PostType = z.object({
  name: z.string(),
  slug: z.string(),
  rest_base: z.string(),
  rest_namespace: z.string().default('wp/v2'),
  viewable: z.boolean(),
});
const PostTypes = z.object({ post: PostType }).catchall(PostType);
const Terms = z.array(z.object({ id: z.number(), name: z.string() }));

async function terms(http: Http, name: string, search?: string) {
  const all = await http.get(`/wp/v2/${name}`, Terms, {
    query: { per_page: '100', orderby: 'count', order: 'desc', search },
  });
  return all.map(({ id, name: label }) => ({ value: String(id), label: shownText(label) }));
}

/** The account at the site, and what the form of a post asks for. */
export const wordpressSite = {
  async profile({ http, values: { domain } }) {
    const { id, name, slug, avatar_urls } = await http.get('/wp/v2/users/me', User, { query: { context: 'edit' } });
    const site = domain.replace(/^https?:\/\//, ''); // with its folder: sites of a host may share their users
    const picture = avatar_urls?.['96'];
    return { id: `${id}@${site}`, name, handle: `${slug}@${site}`, server: domain, picture };
  },
  tools: {
    postTypes: listing('Lists the types of posts of the site', async ({ http }) => {
      const types = await http.get('/wp/v2/types', PostTypes, { query: { context: 'edit' } });
      return Object.values(types)
        .filter(({ slug, viewable, rest_namespace: space }) => viewable && slug !== 'attachment' && space === 'wp/v2')
        .map(({ rest_base: id, name }) => ({ id, name: shownText(name) }));
    }),
    categoriesList: listing('Lists the categories of the site', ({ http }) => terms(http, 'categories')),
    tagsList: tool({
      description: 'Lists the tags of the site, most used first, or those that match a search',
      data: z.object({ search: z.string().max(200).optional() }),
      call: ({ http, data: { search } }) => terms(http, 'tags', search || undefined),
    }),
  },
} satisfies Operations<z.ZodType, Record<'domain' | 'username' | 'password', Field>>;
