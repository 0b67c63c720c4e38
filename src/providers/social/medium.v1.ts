import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { singleLine } from '../kit/declare/setting-texts.ts';
import {
  Canonical,
  escaped,
  madeOf,
  PublicationId,
  Subtitle,
  TagList,
  Title,
  uploadNext,
  urlsOf,
  withPictures,
} from './_articles.ts';
import { social } from './_contract.ts';
import { fitted } from './_files.ts';
import { listing } from './_tools.ts';

const TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/tiff'];
/** Every answer is inside `data`. */
const data = <S extends z.ZodType>(reply: S) => z.object({ data: reply });
const User = data(
  z.object({ id: z.string(), username: z.string(), name: z.string().nullish(), imageUrl: z.string().nullish() }),
);
const Publications = data(z.array(z.object({ id: z.string(), name: z.string() })));
const Image = data(z.object({ url: z.url() }));
const Story = data(z.object({ id: z.string(), url: z.string() }));

/** https://github.com/Medium/medium-api-docs */
export default social({
  id: 'medium',
  version: 'v1',
  status: 'active',
  title: 'Medium',
  description: 'Stories on Medium, for holders of an integration token.',
  website: 'https://medium.com',
  authType: 'api_key',
  setupNotes:
    'Medium has given out no integration tokens since 2025-01-01 and supports its API no longer; tokens that exist work. Writers of a publication who are not its editors cannot publish in it. Stories are edited and deleted at Medium alone. Of the tags of a story Medium takes the first three.',
  credentials: {
    apiKey: secret('Integration token', {
      help: 'At Medium under Settings > Security and apps > Integration tokens. Accounts that never had one do not see it.',
    }),
  },
  api: 'https://api.medium.com/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  login: { kind: 'credentials' },
  once: 'at-most-once',
  threads: 'none',
  editor: 'markdown',
  limits: { text: 100_000, unit: 'characters', media: 20, mediaTypes: TYPES },
  settings: z.looseObject({
    title: Title(100),
    subtitle: Subtitle,
    canonical: Canonical,
    publication: z.union([z.literal(''), PublicationId]).optional(),
    tags: TagList(singleLine(25, 1), 'a tag has at most 25 characters').max(4).optional(), // longer ones are ignored
  }),

  async profile({ http }) {
    const { id, username, name, imageUrl: picture } = (await http.get('/me', User)).data;
    return { id, name: name || username, handle: `@${username}`, picture };
  },
  async prepare({ http, ...call }) {
    const made = await uploadNext(call, async (file) => {
      const image = await fitted(file, { types: TYPES });
      return (await http.post('/images', Image, { multipart: { image } })).data;
    });
    return made ? 'ready' : { againMs: 0 };
  },
  async publish({ http, account, post, saved, settings: { title, subtitle, canonical, publication, tags } }) {
    // a story shows its content alone: `title` is what lists and previews show
    const headings = [`# ${escaped(title)}`, ...(subtitle ? [`## ${escaped(subtitle)}`] : [])];
    const text = [...headings, post.text].join('\n\n');
    const json = {
      title,
      contentFormat: 'markdown',
      content: withPictures({ ...post, text }, urlsOf(madeOf(saved))),
      publishStatus: 'public',
      ...(tags?.length && { tags }),
      ...(canonical && { canonicalUrl: canonical }),
    };
    const owner = publication ? `/publications/${publication}` : `/users/${account}`;
    return (await http.post(`${owner}/posts`, Story, { json, creates: true })).data;
  },
  tools: {
    publications: listing(
      'Lists the publications that the account follows or writes for',
      async ({ http, account }) => (await http.get(`/users/${account}/publications`, Publications)).data,
    ),
  },
});
