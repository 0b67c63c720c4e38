import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { textOfHtml } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import { madeOf, uploadNext } from './_articles.ts';
import { social } from './_contract.ts';
import { commentFrom } from './_plugs.ts';
import { ownComments, readComments, sendComment } from './_wordpress-comments.ts';
import { createDraft, Entry, placeOf, publishedAs, Settings, TYPES, upload } from './_wordpress-post.ts';

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
const Search = z.object({ search: z.string().max(200).optional() });
const Terms = z.array(z.object({ id: z.number(), name: z.string() }));

/** https://developer.wordpress.org/rest-api/reference/ */
export default social({
  id: 'wordpress',
  version: 'v1',
  status: 'active',
  title: 'WordPress',
  description: 'Posts on a WordPress site of your own.',
  website: 'https://wordpress.org',
  authType: 'app_password',
  setupNotes:
    'The site needs WordPress 5.6 or later, https, and permalinks other than plain. Make an application password at Users > Profile; security plugins may switch these or the REST API off. Sites at wordpress.com connect in another way, which is not offered.',
  credentials: {
    domain: text('Site URL', { form: 'origin', help: 'The address of your site, for example https://blog.example' }),
    username: text('Username'),
    password: secret('Application password', {
      help: 'Made at the site under Users > Profile > Application Passwords',
    }),
  },
  api: '{domain}/wp-json',
  auth: { in: 'basic', user: { field: 'username' }, password: { field: 'password' } },
  errorOf: z.object({ code: z.literal('comment_flood') }).transform(() => 'rate_limited' as const),
  login: { kind: 'credentials' },
  once: 'two-phase',
  threads: 'comment',
  editor: 'html',
  limits: {
    text: 100_000,
    unit: 'characters',
    media: 50,
    mediaTypes: [...TYPES, 'video/mp4', 'video/webm', 'video/quicktime'],
  },
  settings: Settings,
  fileSettings: ['main_image'],
  plugs: [commentFrom('wordpress', ['wordpress'])],

  async profile({ http, values: { domain } }) {
    const { id, name, slug, avatar_urls } = await http.get('/wp/v2/users/me', User, { query: { context: 'edit' } });
    const { host } = new URL(domain);
    const picture = avatar_urls?.['96'];
    return { id: `${id}@${host}`, name, handle: `${slug}@${host}`, server: domain, ...(picture && { picture }) };
  },

  async prepare({ http, ...call }) {
    const made = await uploadNext(call, (file) => upload(http, file));
    if (!made) return { againMs: 0 };
    if (made.draft === undefined) await call.save({ ...made, draft: await createDraft(http, { ...call, ...made }) });
    return 'ready';
  },
  async publish({ http, values: { domain: site }, saved, settings: { type, status } }) {
    const { draft } = madeOf(saved);
    const entry = await http.post(`/wp/v2/${type}/${draft}`, Entry, { json: { status }, creates: true });
    return publishedAs({ type, site }, entry);
  },
  async find({ http, values: { domain: site }, saved, settings: { type, status } }) {
    const { draft } = madeOf(saved);
    if (draft === undefined) return undefined;
    const entry = await http.find(`/wp/v2/${type}/${draft}`, Entry.extend({ status: z.string() }), {
      query: { context: 'edit' },
    });
    return entry?.status === status ? publishedAs({ type, site }, entry) : undefined;
  },
  remove: ({ http, published }) => http.delete(`/wp/v2/${placeOf(published).type}/${published.id}`),

  comment: {
    once: 'read-back',
    replies: true,
    send: (call) => sendComment(call),
    find: (call) => ownComments(call),
  },
  comments: ({ http, published: { id }, cursor }) => readComments(http, id, cursor),
  async hide({ http, comment: { id }, hidden }) {
    await http.post(`/wp/v2/comments/${id}`, z.unknown(), { json: { status: hidden ? 'hold' : 'approved' } });
  },

  tools: {
    postTypes: {
      description: 'Lists the types of posts of the site',
      data: z.object({}),
      async call({ http }) {
        const types = await http.get('/wp/v2/types', PostTypes, { query: { context: 'edit' } });
        return Object.values(types)
          .filter(({ slug, viewable, rest_namespace: space }) => viewable && slug !== 'attachment' && space === 'wp/v2')
          .map(({ rest_base: id, name }) => ({ id, name: textOfHtml(name) }));
      },
    },
    categoriesList: {
      description: 'Lists the categories of the site',
      data: z.object({}),
      call: ({ http }) => terms(http, 'categories'),
    },
    tagsList: {
      description: 'Lists the tags of the site, most used first, or those that match a search',
      data: Search,
      call: ({ http, data }) => terms(http, 'tags', Search.parse(data).search || undefined),
    },
  },
});

async function terms(http: Http, name: string, search?: string) {
  const all = await http.get(`/wp/v2/${name}`, Terms, {
    query: { per_page: '100', orderby: 'count', order: 'desc', search },
  });
  return all.map(({ id, name: label }) => ({ value: String(id), label: textOfHtml(label) }));
}
