import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { limits, instagramPosts, publishingLimit, Settings } from './_instagram.ts';
import { instagramAccounts } from './_instagram-accounts.ts';
import { audioSearch } from './_instagram-audio.ts';
import { instagramReading } from './_instagram-reading.ts';
import { instagramAdvice } from './_instagram-reasons.ts';
import { facebookLogin, GRAPH, instagramFailure, removeNode } from './_meta-graph.ts';
import { plugsOf } from './_plugs.ts';

/** https://developers.facebook.com/docs/instagram-platform/content-publishing and the guide to its Audio API */
export default social({
  id: 'instagram',
  version: 'v1',
  status: 'active',
  title: 'Instagram',
  description: 'Posts, carousels, reels and stories of an account that belongs to a Facebook Page.',
  website: 'https://www.instagram.com',
  authType: 'oauth2',
  setupNotes:
    'Business and creator accounts that are linked to a Facebook Page. Until Meta has reviewed the permissions of the app, only people with a role in it can connect. Instagram fetches files from this server or its storage, which must have a public address. A story shows its file alone, without the text of the post.',
  credentials: {},
  app: clientApp,
  api: GRAPH,
  auth: { in: 'token' },
  errorOf: instagramFailure,
  quotaOf: publishingLimit,
  adviceOf: instagramAdvice,
  login: facebookLogin([
    'instagram_basic',
    'pages_show_list',
    'pages_read_engagement',
    'business_management',
    'instagram_content_publish',
    'instagram_manage_comments',
    'instagram_manage_insights',
  ]),
  once: 'two-phase',
  threads: 'comment',
  limits,
  settings: Settings,
  plugs: plugsOf('instagram', ['auto-comment']),
  ...instagramAccounts,
  ...instagramPosts,
  ...instagramReading,
  remove: ({ http, published: { id } }) => removeNode(http, id),
  tools: { audioSearch },
});
