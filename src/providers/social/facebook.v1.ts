import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { facebookPage } from './_facebook-page.ts';
import { facebookPosts, Settings } from './_facebook-posts.ts';
import { facebookReading } from './_facebook-reading.ts';
import { facebookLogin, GRAPH, graphDuplicate, graphFailure, UPLOADS, VIDEOS } from './_meta-graph.ts';
import { plugsOf } from './_plugs.ts';

const video = { count: 1, bytes: 10_000_000_000, seconds: [0, 14_400] } as const;

/** https://developers.facebook.com/docs/pages-api/posts, and the guides to videos, reels and stories beside it */
export default social({
  id: 'facebook',
  version: 'v1',
  status: 'active',
  title: 'Facebook Page',
  description: 'Posts, photos, videos, reels and stories on a Facebook Page.',
  website: 'https://www.facebook.com',
  authType: 'oauth2',
  setupNotes:
    'Pages only, no profiles and no groups. Until Meta has reviewed the permissions of the app, only people with a role in it can connect. A page takes 30 reels a day. A story shows its file alone, without the text of the post.',
  credentials: {},
  app: clientApp,
  api: GRAPH,
  hosts: { videos: VIDEOS, uploads: UPLOADS },
  auth: [
    { in: 'token' },
    { in: 'header', host: 'videos', name: 'authorization', prefix: 'Bearer ', token: true },
    { in: 'header', host: 'uploads', name: 'authorization', prefix: 'OAuth ', token: true },
  ],
  errorOf: graphFailure,
  duplicateOf: graphDuplicate,
  login: facebookLogin([
    'pages_show_list',
    'business_management',
    'pages_manage_posts',
    'pages_manage_engagement',
    'pages_read_engagement',
    'read_insights',
  ]),
  once: 'read-back',
  threads: 'comment',
  limits: {
    text: 63_206,
    unit: 'characters',
    media: 10,
    oneKind: true,
    mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'video/*'],
    image: { bytes: 4_000_000 },
    video,
    byType: {
      setting: 'post_type',
      limits: {
        reel: {
          media: 1,
          needsMedia: true,
          mediaTypes: ['video/*'],
          video: { ...video, side: [540, 10_000], ratio: [0.55, 0.57], seconds: [3, 90] },
        },
        story: { media: 1, needsMedia: true, video: { ...video, seconds: [0, 60] } },
      },
    },
  },
  releaseIds: { form: /^\d{1,20}(?:_\d{1,20}){0,2}$/, words: 'the numbers of the page and of the post, such as 12_34' },
  settings: Settings,
  plugs: plugsOf('facebook', ['auto-comment', 'repost-from', 'comment-from']),
  ...facebookPage,
  ...facebookPosts,
  ...facebookReading,
});
