import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, type Values } from '../kit/declare/fields.ts';
import { networkId, singleLine } from '../kit/declare/setting-texts.ts';
import { type Connection, social } from './_contract.ts';
import { allPages } from './_lists.ts';
import { listing, tool } from './_tools.ts';

const COOKIE = '[^\\s;,]+';
const User = z.object({
  id: z.string(),
  first_name: z.string().nullish(),
  last_name: z.string().nullish(),
  name: z.string(),
  metadata: z.object({ picture_profile: z.url().nullish().catch(undefined) }).nullish(),
});
const Group = z.object({
  id: z.string(),
  name: z.string(),
  metadata: z.object({ display_name: z.string().nullish(), labels: z.string().nullish() }),
});
const Groups = z.object({ groups: z.array(Group) });
const Label = z.object({ id: z.string(), metadata: z.object({ display_name: z.string() }) });
const Made = z.object({ id: z.string(), name: z.string() });
const Saved = z.object({ group: z.string() });
const MOST_LABELS = 20;
const PAGE = 30;
const PAGES = 10;

type Account = Pick<Connection, 'http'> & { values: Values };
const cookiesOf = ({ values }: Pick<Account, 'values'>) => ({
  cookie: `auth_token=${values['authToken']}; client_id=${values['clientId']}`,
});
const groupOf = ({ http, values }: Account, id: string) =>
  http.get(`/groups/${encodeURIComponent(id)}`, Group, { headers: cookiesOf({ values }) });
const metadataOf = (title: string, content: string) => ({ title, content, attachments: '', action: 0, video_ids: '' });

/** Skool publishes no interface; this is what its web pages were seen to call. */
export default social({
  id: 'skool',
  version: 'v1',
  status: 'preview',
  title: 'Skool',
  description: 'Posts in the groups of a Skool community.',
  website: 'https://www.skool.com',
  authType: 'none',
  setupNotes:
    'Skool has no public interface: this uses the private one of its web pages, which may change at any time and which its terms may not allow. The two cookies give full access to the account. Text only.',
  credentials: {
    authToken: secret('Cookie auth_token', {
      validation: COOKIE,
      help: 'Of skool.com, from a browser that is logged in',
    }),
    clientId: secret('Cookie client_id', { validation: COOKIE }),
  },
  api: 'https://api2.skool.com',
  errors: { 403: 'reauthorize' }, // of cookies that ended or of a right: `profile` tells them apart
  errorOf: z.object({ error: z.string().regex(/must be admin or level/i) }).transform(() => 'rejected' as const),
  login: { kind: 'credentials' },
  once: 'at-most-once',
  threads: 'comment',
  limits: { text: 5_000, unit: 'characters', media: 0, mediaTypes: [] },
  settings: z.looseObject({
    group: networkId(100),
    label: networkId(100, 0).optional(),
    title: singleLine(200, 1),
  }),

  async profile({ http, values }) {
    const { id, first_name, last_name, name, metadata } = await http.get('/self', User, {
      headers: cookiesOf({ values }),
    });
    const picture = metadata?.picture_profile;
    const full = [first_name, last_name].filter(Boolean).join(' ');
    return { id, name: full || name, handle: `@${name}`, picture };
  },
  async publish({ http, values, post, settings: { group, label, title } }) {
    const { name: slug } = await groupOf({ http, values }, group);
    const metadata = { ...metadataOf(title, post.text), labels: label && label !== 'none' ? label : '' };
    const { id, name } = await http.post('/posts', Made, {
      query: { follow: 'true' },
      headers: cookiesOf({ values }),
      json: { post_type: 'generic', group_id: group, metadata },
      creates: true,
    });
    return { id, url: `https://www.skool.com/${slug}/${name}`, saved: { group } };
  },
  comment: {
    once: 'at-most-once',
    replies: true,
    async send({ http, values, post, published, parent }) {
      const { data: saved } = Saved.safeParse(published.saved);
      if (!saved) throw refused('rejected', 'A post that was named by its id alone takes no comments here');
      const json = {
        post_type: 'comment',
        group_id: saved.group,
        root_id: published.id,
        parent_id: parent?.id ?? published.id,
        metadata: metadataOf('', post.text),
      };
      const { id } = await http.post('/posts', Made.pick({ id: true }), {
        query: { follow: 'true' },
        headers: cookiesOf({ values }),
        json,
        creates: true,
      });
      return { id, url: published.url, saved: published.saved };
    },
  },
  tools: {
    groups: listing('Lists the groups of the connected person', ({ http, values, account }) =>
      allPages(PAGES, async (offset = '0') => {
        const { groups } = await http.get(`/users/${encodeURIComponent(account)}/groups`, Groups, {
          query: { offset, limit: String(PAGE) },
          headers: cookiesOf({ values }),
        });
        return {
          items: groups.map(({ id, name, metadata }) => ({ id, name: metadata.display_name || name })),
          next: groups.length < PAGE ? undefined : String(Number(offset) + PAGE),
        };
      }),
    ),
    label: tool({
      description: 'Lists the labels of a group',
      data: z.object({ id: z.string().min(1).max(100) }),
      async call({ http, values, data: { id } }) {
        const headers = cookiesOf({ values });
        const { metadata } = await groupOf({ http, values }, id);
        const ids = (metadata.labels ?? '').split(',').filter(Boolean).slice(0, MOST_LABELS);
        const read = (one: string) => http.get(`/labels/${encodeURIComponent(one)}`, Label, { headers });
        const labels = await Promise.all(ids.map(read));
        return labels.map((one) => ({ id: one.id, name: one.metadata.display_name }));
      },
    }),
  },
});
