import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { Operations } from './_contract.ts';
import { COMMENT_LIMITS, readMember } from './_linkedin.ts';
import { authoredBy } from './_linkedin-author.ts';
import { findComments, readComments, sendComment } from './_linkedin-comments.ts';
import { findReposts, repeat } from './_linkedin-posts.ts';
import { countsOfPosts, reportOfPage } from './_linkedin-report.ts';
import { chosenPage, keepPage } from './_pages.ts';

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
const shown = ({ localizedName: name, vanityName, logoV2: picture }: z.output<typeof Organization>) => ({
  name,
  handle: vanityName ?? '',
  picture,
});
const organizationOf = (http: Http, id: string) =>
  http.get(`/v2/organizations/${encodeURIComponent(id)}`, Organization, { rawQuery: `projection=${FIELDS}` });
const authored = authoredBy('organization');

/** Pages of the connected person, and what the API offers for them alone. */
export const linkedinPages = {
  async profile({ http, values }) {
    const id = chosenPage(values, 'page');
    return id === undefined ? readMember(http) : { id, ...shown(await organizationOf(http, id)) };
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
  choose: keepPage('page'),
  comment: {
    once: 'read-back',
    replies: true,
    limits: COMMENT_LIMITS,
    send: (call) => sendComment(authored(call)),
    find: (call) => findComments(authored(call)),
  },
  commentReads: { lists: 'top' },
  comments: (call) => readComments(call),
  repost: {
    once: 'read-back',
    send: (call) => repeat(authored(call)),
    find: (call) => findReposts(authored(call)),
  },
  metrics: (call) => countsOfPosts(authored(call)),
  metricsAtOnce: 50,
  channelMetrics: (call) => reportOfPage(authored(call)),
} satisfies Operations;
