import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { plugsOf } from './_plugs.ts';
import { CAST_HASH } from './_wrapcast-casts.ts';
import { signerLogin } from './_wrapcast-login.ts';
import { casting, Settings } from './_wrapcast-posts.ts';
import { castReading } from './_wrapcast-reading.ts';

/** https://docs.neynar.com/reference: casts go through signers that Neynar keeps for its apps */
export default social({
  id: 'wrapcast',
  version: 'v1',
  status: 'active',
  title: 'Farcaster',
  description: 'Casts on Farcaster, also in its channels.',
  website: 'https://farcaster.xyz',
  authType: 'oauth2',
  setupNotes:
    'The app is one at Neynar, with its API key; its calls use up the credits of its plan there. Pictures and videos are fetched from this server for as long as the cast is shown, so they must stay there.',
  credentials: {},
  app: clientApp,
  api: 'https://api.neynar.com/v2/farcaster',
  auth: { in: 'header', name: 'x-api-key', app: 'clientSecret' },
  // 404: of a signer, or of a cast: `profile` tells them apart
  errors: { 401: 'rejected', 403: 'reauthorize', 404: 'reauthorize' },
  login: signerLogin,
  once: 'key',
  threads: 'reply',
  limits: {
    text: 1_024,
    unit: 'bytes',
    media: 2,
    mediaTypes: ['image/*', 'video/mp4'],
    video: { count: 1 },
    fetches: ['image', 'video'],
  },
  releaseIds: { form: CAST_HASH, words: 'the whole hash of the cast: 0x and 40 digits' },
  settings: Settings,
  plugs: plugsOf('wrapcast', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']),
  ...casting,
  ...castReading,
});
