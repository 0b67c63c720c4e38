import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { social } from './_contract.ts';
import { plugsOf } from './_plugs.ts';
import { vkPosts } from './_vk-posts.ts';
import { vkReading } from './_vk-reading.ts';
import { PHOTO } from './_vk-upload.ts';
import { failureInside, postsOfDay } from './_vk-wall.ts';

/** https://dev.vk.com/method/wall */
export default social({
  id: 'vk',
  version: 'v1',
  status: 'active',
  title: 'VK',
  description: "Posts on the wall of a person's VK profile.",
  website: 'https://vk.com',
  authType: 'oauth2',
  setupNotes:
    'VK lets only apps of verified businesses write to walls, on request; it refuses the posts of other apps. At most 50 posts a day.',
  credentials: {},
  app: { clientId: text('App id') },
  api: 'https://api.vk.com/method',
  auth: [{ in: 'token' }, { in: 'form', name: 'v', text: '5.199' }],
  errorInside: failureInside,
  quotaOf: postsOfDay,
  login: {
    kind: 'oauth2',
    authorize: 'https://id.vk.com/authorize',
    token: 'https://id.vk.com/oauth2/auth',
    scopes: ['vkid.personal_info', 'wall', 'photos', 'video', 'groups'],
    pkce: true,
    secretIn: 'none',
    keeps: { callback: { device_id: 'device_id' } },
    exchangeAsks: { device_id: '{device_id}', state: '{state}' },
    renewAsks: { device_id: '{device_id}', state: '{state}' },
    revoke: { at: 'https://id.vk.com/oauth2/revoke', tokenName: 'access_token' },
  },
  once: 'key',
  threads: 'comment',
  pace: [{ per: 'account', posts: 50, ms: 86_400_000, of: 'posts' }],
  limits: {
    text: 16_384,
    unit: 'characters',
    media: 10,
    mediaTypes: [...PHOTO.types, 'video/*'],
    image: { bytes: PHOTO.maxBytes, ratio: [0.05, 20] },
  },
  settings: z.looseObject({}),
  plugs: plugsOf('vk', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']),
  ...vkPosts,
  ...vkReading,
});
