import { z } from 'zod';
import { whenFailed } from '../kit/declare/fallback.ts';
import { social } from './_contract.ts';
import { COMMENT_CHARACTERS, companies, LINKEDIN, linkedinLogin, mention, readMember, Settings } from './_linkedin.ts';
import { sendComment } from './_linkedin-comments.ts';
import { prepareMedia } from './_linkedin-media.ts';
import { findPosts, publishPost, removePost, repeat } from './_linkedin-posts.ts';
import { commentFrom, repostFrom } from './_plugs.ts';

const Me = z.object({ vanityName: z.string().nullish() });
const authorOf = ({ account }: { account: string }) => `urn:li:person:${account}`;

/** https://learn.microsoft.com/en-us/linkedin/marketing/community-management/shares/posts-api */
export default social({
  ...LINKEDIN,
  id: 'linkedin',
  title: 'LinkedIn',
  description: "Posts on a member's own LinkedIn profile.",
  setupNotes:
    'The app needs the products Share on LinkedIn, Sign In with LinkedIn using OpenID Connect, and Community Management API, which LinkedIn reviews for registered companies. Apps without refresh tokens ask the person to log in again every 60 days.',
  login: linkedinLogin(),
  once: 'read-back',
  settings: Settings,
  plugs: [
    repostFrom('linkedin', ['linkedin', 'linkedin-page']),
    commentFrom('linkedin', ['linkedin', 'linkedin-page']),
  ],

  async profile({ http }) {
    const member = await readMember(http);
    const me = await whenFailed(
      'rejected',
      () => http.get('/v2/me', Me),
      async () => ({ vanityName: undefined }),
    );
    return { ...member, handle: me.vanityName ?? '' };
  },
  prepare: (call) => prepareMedia({ ...call, author: authorOf(call) }),
  publish: (call) => publishPost({ ...call, author: authorOf(call) }),
  /** Few apps may read posts of members. Otherwise the post is sent again: LinkedIn refuses a repeat, and names it. */
  find: (call) =>
    whenFailed(
      'rejected',
      () => findPosts({ ...call, author: authorOf(call) }),
      async () => [],
    ),
  remove: ({ http, published }) => removePost(http, published),

  comment: {
    once: 'at-most-once', // comments of members cannot be read
    replies: true,
    text: COMMENT_CHARACTERS,
    send: (call) => sendComment({ ...call, author: authorOf(call) }),
  },
  repost: { once: 'at-most-once', send: (call) => repeat({ ...call, author: authorOf(call) }) },
  mentions: ({ http, query }) => companies(http, query),
  mention,
});
