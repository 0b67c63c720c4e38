import { z } from 'zod';
import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { limits, instagramPosts, publishingLimit, Settings } from './_instagram.ts';
import { instagramReading } from './_instagram-reading.ts';
import { instagramAdvice } from './_instagram-reasons.ts';
import { instagramFailure, longLogin } from './_meta-graph.ts';
import { plugsOf } from './_plugs.ts';

const API = 'https://graph.instagram.com';
const Me = z.object({
  user_id: z.coerce.string(),
  username: z.string(),
  name: z.string().nullish(),
  profile_picture_url: z.url().nullish().catch(undefined),
});

/** https://developers.facebook.com/docs/instagram-platform/instagram-api-with-instagram-login */
export default social({
  id: 'instagram-standalone',
  version: 'v1',
  status: 'active',
  title: 'Instagram (without Facebook)',
  description: 'Posts, carousels, reels and stories of an account that is connected directly.',
  website: 'https://www.instagram.com',
  authType: 'oauth2',
  setupNotes:
    'Business and creator accounts. Until Meta has reviewed the permissions of the app, only its testers can connect. Posts cannot be deleted, and music cannot be added to reels. Instagram fetches files from this server or its storage, which must have a public address. A story shows its file alone, without the text of the post.',
  credentials: {},
  app: clientApp,
  api: `${API}/v25.0`,
  auth: { in: 'token' },
  errorOf: instagramFailure,
  quotaOf: publishingLimit,
  adviceOf: instagramAdvice,
  login: longLogin(
    {
      authorize: 'https://www.instagram.com/oauth/authorize',
      token: 'https://api.instagram.com/oauth/access_token',
      scopes: [
        'instagram_business_basic',
        'instagram_business_content_publish',
        'instagram_business_manage_comments',
        'instagram_business_manage_insights',
      ],
      asks: { enable_fb_login: '0' },
    },
    API,
    'ig',
  ),
  once: 'two-phase',
  threads: 'comment',
  limits,
  settings: Settings.refine(({ audio }) => !audio, {
    path: ['audio'],
    message: 'needs an account that is connected by Facebook',
  }),
  plugs: plugsOf('instagram-standalone', ['auto-comment']),
  ...instagramPosts,
  ...instagramReading,

  async profile({ http }) {
    const query = { fields: 'user_id,username,name,profile_picture_url' };
    const { user_id: id, username, name, profile_picture_url: picture } = await http.get('/me', Me, { query });
    return { id, name: name || username, handle: `@${username}`, picture };
  },
});
