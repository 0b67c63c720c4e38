import { social } from './_contract.ts';
import { plugsOf } from './_plugs.ts';
import { xApp, xLogin } from './_x-login.ts';
import { Settings } from './_x-post.ts';
import { LIMITS, xPosts } from './_x-posts.ts';
import { Problem, ProblemInside, ProblemOfRepeat } from './_x-problems.ts';
import { xReading } from './_x-reading.ts';

/** https://docs.x.com/x-api/posts/create-post, with the fields of the OpenAPI description 2.167 */
export default social({
  id: 'x',
  version: 'v1',
  status: 'active',
  title: 'X',
  description: 'Posts, threads, media and articles on X.',
  website: 'https://x.com',
  authType: 'oauth2',
  setupNotes:
    'X charges the app for each call: about 0.015 USD for a post, 0.20 USD for one with a link, 0.005 USD for a post that is read. It refuses replies to people who have not mentioned or quoted the account. Long posts and articles need X Premium.',
  credentials: {},
  app: xApp,
  appOneOf: [
    ['clientId', 'clientSecret'],
    ['consumerKey', 'consumerSecret'],
  ],
  api: 'https://api.x.com/2',
  auth: { in: 'token' },
  errorOf: Problem,
  errorInside: ProblemInside,
  duplicateOf: ProblemOfRepeat,
  login: xLogin,
  once: 'read-back',
  threads: 'reply',
  pace: [
    { per: 'account', posts: 100, ms: 900_000 },
    { per: 'app', posts: 10_000, ms: 86_400_000 },
  ],
  limits: LIMITS,
  settings: Settings,
  fileSettings: ['article_cover'],
  plugs: plugsOf('x', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']),
  ...xPosts,
  ...xReading,
});
