import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { Values } from '../kit/declare/fields.ts';
import { social } from './_contract.ts';
import { COMMENT_CHARACTERS, companies, LINKEDIN, linkedinLogin, mention, readMember, Settings } from './_linkedin.ts';
import { findComments, readComments, sendComment } from './_linkedin-comments.ts';
import { prepareMedia } from './_linkedin-media.ts';
import { findPosts, findReposts, publishPost, removePost, repeat } from './_linkedin-posts.ts';
import { countsOfPosts, reportOfPage } from './_linkedin-report.ts';
import { commentAtLikes, commentFrom, repostAtLikes, repostFrom } from './_plugs.ts';

const NETWORKS = ['linkedin', 'linkedin-page'];
const FIELDS = '(localizedName,vanityName,logoV2(original~:playableStreams))';
const EDITORS = ['ADMINISTRATOR', 'CONTENT_ADMINISTRATOR'];

const Logo = z
  .object({
    'original~': z.object({
      elements: z.array(z.object({ identifiers: z.array(z.object({ identifier: z.url() })) })),
    }),
  })
  .transform((logo) => logo['original~'].elements.at(-1)?.identifiers[0]?.identifier)
  .nullish()
  .catch(undefined);
const Organization = z.object({ localizedName: z.string(), vanityName: z.string().nullish(), logoV2: Logo });
const Roles = z.object({
  elements: z.array(
    z.object({ role: z.string(), organizationalTarget: z.string(), 'organizationalTarget~': Organization }),
  ),
});
const authorOf = ({ account }: { account: string }) => `urn:li:organization:${account}`;
const shown = ({ localizedName: name, vanityName, logoV2: picture }: z.output<typeof Organization>) => ({
  name,
  handle: vanityName ?? '',
  ...(picture && { picture }),
});

/** https://learn.microsoft.com/en-us/linkedin/marketing/community-management/shares/posts-api */
export default social({
  ...LINKEDIN,
  id: 'linkedin-page',
  title: 'LinkedIn Page',
  description: 'Posts on a company page that the person administers.',
  setupNotes:
    'The app needs the product Community Management API, which LinkedIn reviews for registered companies. The person must be a super admin or content admin of the page.',
  login: linkedinLogin({ prompt: 'none' }),
  once: 'read-back',
  settings: Settings,
  plugs: [
    repostAtLikes('linkedin-page'),
    commentAtLikes('linkedin-page'),
    repostFrom('linkedin-page', NETWORKS),
    commentFrom('linkedin-page', NETWORKS),
  ],

  async profile({ http, values }) {
    const id = (values as Values)['page'];
    if (id === undefined) return readMember(http);
    return { id, ...shown(await organizationOf(http, id)) };
  },
  async pages({ http }) {
    const { elements } = await http.get('/v2/organizationalEntityAcls', Roles, {
      query: { q: 'roleAssignee', state: 'APPROVED' },
      rawQuery: `projection=(elements*(role,organizationalTarget~${FIELDS}))`,
    });
    return elements
      .filter(({ role }) => EDITORS.includes(role))
      .map((one) => ({
        id: one.organizationalTarget.replace(/^urn:li:organization(?:Brand)?:/, ''),
        ...shown(one['organizationalTarget~']),
      }));
  },
  choose: async ({ page, tokens }) => ({ ...tokens, values: { ...tokens.values, page } }),

  prepare: (call) => prepareMedia({ ...call, author: authorOf(call) }),
  publish: (call) => publishPost({ ...call, author: authorOf(call) }),
  find: (call) => findPosts({ ...call, author: authorOf(call) }),
  remove: ({ http, published }) => removePost(http, published),

  comment: {
    once: 'read-back',
    replies: true,
    text: COMMENT_CHARACTERS,
    send: (call) => sendComment({ ...call, author: authorOf(call) }),
    find: (call) => findComments({ ...call, author: authorOf(call) }),
  },
  comments: (call) => readComments(call),
  repost: {
    once: 'read-back',
    send: (call) => repeat({ ...call, author: authorOf(call) }),
    find: (call) => findReposts({ ...call, author: authorOf(call) }),
  },
  metrics: (call) => countsOfPosts({ ...call, author: authorOf(call) }),
  metricsAtOnce: 50,
  channelMetrics: (call) => reportOfPage({ ...call, author: authorOf(call) }),
  mentions: ({ http, query }) => companies(http, query),
  mention,
});

const organizationOf = (http: Http, id: string) =>
  http.get(`/v2/organizations/${encodeURIComponent(id)}`, Organization, { rawQuery: `projection=${FIELDS}` });
