import { z } from 'zod';
import { whenFailed } from '../kit/declare/fallback.ts';
import { social } from './_contract.ts';
import { COMMENT_LIMITS, LINKEDIN, linkedinLogin, readMember, Settings } from './_linkedin.ts';
import { authoredBy, linkedinPosts } from './_linkedin-author.ts';
import { sendComment } from './_linkedin-comments.ts';
import { repeat } from './_linkedin-posts.ts';
import { plugsOf } from './_plugs.ts';

const Me = z.object({ vanityName: z.string().nullish() });
const authored = authoredBy('person');
const posts = linkedinPosts('person');

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
  plugs: plugsOf('linkedin', ['repost-from', 'comment-from'], ['linkedin', 'linkedin-page']),
  ...posts,

  async profile({ http }) {
    const member = await readMember(http);
    const me = await whenFailed(
      'rejected',
      () => http.get('/v2/me', Me),
      async () => ({ vanityName: undefined }),
    );
    return { ...member, handle: me.vanityName ?? '' };
  },
  /** Few apps may read posts of members. Otherwise the post is sent again: LinkedIn refuses a repeat, and names it. */
  find: (call) =>
    whenFailed(
      'rejected',
      () => posts.find(call),
      async () => [],
    ),
  comment: {
    once: 'at-most-once', // comments of members cannot be read
    replies: true,
    limits: COMMENT_LIMITS,
    send: (call) => sendComment(authored(call)),
  },
  repost: { once: 'at-most-once', send: (call) => repeat(authored(call)) },
});
