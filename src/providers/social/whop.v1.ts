import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { social, tool } from './_contract.ts';
import { commentAtLikes, commentFrom } from './_plugs.ts';
import { prepareFiles, Saved } from './_whop-files.ts';
import { countsOf, experienceOf, ForumPost, ownPosts, published, readAll, readComments } from './_whop-reading.ts';

const Person = z.object({
  sub: z.string(),
  preferred_username: z.string().nullish(),
  name: z.string().nullish(),
  picture: z.url().nullish().catch(undefined),
});
const Company = z.object({ id: z.string(), title: z.string() });
const Forum = z.object({ experience: z.object({ id: z.string(), name: z.string() }) });
const sameText = (a: string | null | undefined, b: string) => (a ?? '').trim() === b.trim();

/** https://docs.whop.com/api-reference/forum-posts/create-forum-post */
export default social({
  id: 'whop',
  version: 'v1',
  status: 'active',
  title: 'Whop',
  description: 'Posts in the forums of a Whop company.',
  website: 'https://whop.com',
  authType: 'oauth2',
  setupNotes:
    'Make an app in the developer settings of Whop and allow it to create and read forum posts. Posts cannot be deleted through the API.',
  credentials: {},
  app: { clientId: text('App id') },
  api: 'https://api.whop.com/api/v1',
  auth: { in: 'token' },
  login: {
    kind: 'oauth2',
    authorize: 'https://api.whop.com/oauth/authorize',
    token: 'https://api.whop.com/oauth/token',
    scopes: ['openid', 'profile', 'email', 'forum:post:create', 'forum:read', 'company:basic:read'],
    pkce: true,
    nonce: true,
    secretIn: 'none',
    revoke: { at: 'https://api.whop.com/oauth/revoke', of: 'refresh' },
  },
  once: 'read-back',
  threads: 'comment',
  editor: 'markdown',
  limits: {
    text: 50_000,
    unit: 'characters',
    media: 10,
    mediaTypes: ['image/*', 'video/*', 'audio/*', 'application/pdf'],
    video: { bytes: 5_000_000_000 },
  },
  settings: z.looseObject({
    company: z.string().regex(/^\w{1,100}$/),
    experience: z.string().regex(/^\w{1,100}$/),
    title: z.string().max(255).optional(),
  }),
  plugs: [commentAtLikes('whop'), commentFrom('whop', ['whop'])],

  async profile({ http }) {
    const { sub, name, preferred_username, picture } = await http.get('https://api.whop.com/oauth/userinfo', Person);
    return {
      id: sub,
      name: name || preferred_username || sub,
      handle: preferred_username ? `@${preferred_username}` : '',
      ...(picture && { picture }),
    };
  },

  prepare: (call) => prepareFiles(call),
  async publish({ http, post, settings: { experience, title }, saved }) {
    const { files } = Saved.parse(saved);
    const json = {
      experience_id: experience,
      content: post.text,
      ...(title && { title }),
      ...(files.length > 0 && { attachments: files.map((id) => ({ id })) }),
    };
    const { id } = await http.post('/forum_posts', ForumPost, { json, creates: true });
    return published(experience, id);
  },
  find: ({ http, account, post, settings: { experience, title }, since }) =>
    ownPosts({
      http,
      account,
      experience,
      since,
      fits: (one) =>
        sameText(one.title, title ?? '') &&
        sameText(one.content, post.text) &&
        one.attachments.length === post.media.length,
    }),

  comment: {
    once: 'read-back',
    replies: true,
    async send({ http, post, published: of, parent }) {
      const experience = experienceOf(of);
      const json = { experience_id: experience, parent_id: parent?.id ?? of.id, content: post.text };
      const { id } = await http.post('/forum_posts', ForumPost, { json, creates: true });
      return published(experience, id);
    },
    find: ({ http, account, post, published: of, parent, since }) =>
      ownPosts({
        http,
        account,
        experience: experienceOf(of),
        parent: parent?.id ?? of.id,
        since,
        fits: (one) => sameText(one.content, post.text),
      }),
  },
  comments: ({ http, published: of, cursor }) => readComments(http, of, cursor),
  metrics: ({ http, posts }) => countsOf(http, posts),

  tools: {
    companies: {
      description: 'Lists the companies of the person',
      data: z.object({}),
      call: ({ http }) =>
        readAll(
          http,
          '/companies',
          Company.transform(({ id, title: name }) => ({ id, name })),
        ),
    },
    experiences: tool({
      description: 'Lists the forums of a company',
      data: z.object({ id: z.string().regex(/^\w{1,100}$/) }),
      call: ({ http, data: { id } }) =>
        readAll(
          http,
          '/forums',
          Forum.transform(({ experience }) => experience),
          { company_id: id },
        ),
    }),
  },
});
