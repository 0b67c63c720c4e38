import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import { fitted, type Made, madeOf, uploadNext, urlsOf } from './_articles.ts';
import { type Post, type Published, social } from './_contract.ts';
import { seriesOfNow } from './_series.ts';

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif'];
/** A campaign that was started, whatever became of it since. */
const STARTED = ['running', 'paused', 'cancelled', 'finished', 'scheduled'];

const Id = z.union([z.string().regex(/^\d{1,18}$/), z.int().positive()]).transform(Number);
const Settings = z.looseObject({
  subject: z.string().trim().min(1).max(500),
  preview: z.string().max(500).optional(),
  list: Id,
  template: z.union([z.literal('').transform(() => undefined), Id]).optional(),
});

const Campaign = z.object({
  data: z.object({
    id: z.number(),
    status: z.string(),
    views: z.number().nullish(),
    clicks: z.number().nullish(),
  }),
});
const Lists = z.object({
  data: z.object({
    results: z.array(z.object({ id: z.number(), name: z.string(), subscriber_count: z.number().nullish() })),
  }),
});
const Templates = z.object({ data: z.array(z.object({ id: z.number(), name: z.string(), type: z.string() })) });
/** Older servers answer `uri`, without the host. */
const Stored = z
  .object({ data: z.object({ id: z.number(), url: z.string().optional(), uri: z.string().optional() }) })
  .transform(({ data: { id, url, uri } }) => ({ id, url: url ?? uri ?? '' }));

const lists = (http: Http, per_page = 'all') => http.get('/lists', Lists, { query: { per_page } });
const published = (server: string, id: string): Published => ({ id, url: `${server}/admin/campaigns/${id}` });

/** https://listmonk.app/docs/apis/campaigns/ */
export default social({
  id: 'listmonk',
  version: 'v1',
  status: 'active',
  title: 'listmonk',
  description: 'Email campaigns to the lists of a listmonk server of your own.',
  website: 'https://listmonk.app',
  authType: 'basic',
  setupNotes:
    'Make an API user at Admin > Users, whose role may read lists and templates, manage and send campaigns, and upload media. Mails that were sent cannot be called back.',
  credentials: {
    url: text('Server URL', { form: 'origin', help: 'The address of your server, for example https://news.example' }),
    username: text('API user'),
    password: secret('API token'),
  },
  api: '{url}/api',
  auth: { in: 'basic', user: { field: 'username' }, password: { field: 'password' } },
  errors: { 403: 'reauthorize' }, // also where the token or its role has changed
  login: { kind: 'credentials' },
  once: 'two-phase',
  threads: 'none',
  editor: 'html',
  limits: { text: 100_000, unit: 'characters', media: 20, mediaTypes: IMAGE_TYPES },
  settings: Settings,

  async profile({ http, values: { url, username } }) {
    await lists(http, '1'); // the login is good
    const { host } = new URL(url);
    return { id: `${username}@${host}`, name: host, handle: username, server: url };
  },

  async prepare({ http, values: { url }, settings, ...call }) {
    const made = await uploadNext(call, async (file) => {
      const picture = await fitted(file, { types: IMAGE_TYPES });
      const stored = await http.post('/media', Stored, { multipart: { file: picture } });
      return { ...stored, url: new URL(stored.url, url).href };
    });
    if (!made) return { againMs: 0 };
    if (made.draft === undefined) {
      const json = campaign(call.post, settings, made);
      const { data } = await http.post('/campaigns', Campaign, { json });
      await call.save({ ...made, draft: String(data.id) });
    }
    return 'ready';
  },
  async publish({ http, values: { url }, saved }) {
    const id = madeOf(saved).draft!; // `prepare`
    await http.put(`/campaigns/${id}/status`, Campaign, { json: { status: 'running' }, creates: true });
    return published(url, id);
  },
  async find({ http, values: { url }, saved }) {
    const id = madeOf(saved).draft;
    const found = id === undefined ? undefined : await http.find(`/campaigns/${id}`, Campaign);
    return found && STARTED.includes(found.data.status) ? published(url, String(found.data.id)) : undefined;
  },
  remove: ({ http, published: { id } }) => http.delete(`/campaigns/${encodeURIComponent(id)}`),

  async metrics({ http, posts }) {
    const { id } = posts[0]!; // `metricsAtOnce`
    const found = await http.find(`/campaigns/${encodeURIComponent(id)}`, Campaign);
    if (!found) return [];
    const { views, clicks } = found.data;
    return [{ id, counts: { ...(views != null && { views }), ...(clicks != null && { clicks }) } }];
  },
  /** A subscriber of several lists counts in each. */
  async channelMetrics({ http, clock }) {
    const { data } = await lists(http);
    const followers = data.results.reduce((sum, { subscriber_count: count }) => sum + (count ?? 0), 0);
    return seriesOfNow(clock, { followers });
  },
  tools: {
    list: {
      description: 'Names the lists of the server',
      data: z.object({}),
      call: async ({ http }) => {
        const { data } = await lists(http);
        return data.results.map(({ id, name }) => ({ id: String(id), name }));
      },
    },
    templates: {
      description: 'Names the templates of campaigns',
      data: z.object({}),
      call: async ({ http }) => {
        const { data } = await http.get('/templates', Templates);
        return data.filter(({ type }) => type !== 'tx').map(({ id, name }) => ({ id: String(id), name }));
      },
    },
  },
});

/** Braces in a text are no template of the server. */
const literal = (written: string): string => written.replaceAll('{{', '{{ "{{" }}');
const escapeHtml = (plain: string): string => plain.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The draft of a post: its text, and the pictures below it. */
function campaign(post: Post, settings: z.output<typeof Settings>, made: Made) {
  const { subject, preview, list, template } = settings;
  const pictures = urlsOf(made).map((url, n) => {
    const alt = escapeHtml(post.media[n]?.alt ?? '');
    return `<p><img src="${escapeHtml(url)}" alt="${alt}" style="max-width:100%"></p>`;
  });
  const body = [
    ...(preview ? [`<div style="display:none;max-height:0;overflow:hidden">${escapeHtml(preview)}</div>`] : []),
    ...(post.text === '' ? [] : [`<p>${post.text.replaceAll('\n', '<br>\n')}</p>`]),
    ...pictures,
  ];
  return {
    name: subject,
    subject: literal(subject),
    lists: [list],
    type: 'regular',
    content_type: 'html',
    messenger: 'email',
    body: literal(body.join('\n')),
    altbody: literal(post.plain),
    ...(template !== undefined && { template_id: template }),
  };
}
