import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { pins, Settings } from './_pinterest-pins.ts';
import { pinterestReading } from './_pinterest-report.ts';
import { plugsOf } from './_plugs.ts';

/** https://developers.pinterest.com/docs/api/v5/pins-create */
export default social({
  id: 'pinterest',
  version: 'v1',
  status: 'active',
  title: 'Pinterest',
  description: 'Pins with pictures, carousels and videos on a board.',
  website: 'https://www.pinterest.com',
  authType: 'oauth2',
  setupNotes:
    'With trial access only the author sees the pins: Pinterest grants standard access after it has seen a video of the app. Secret boards cannot be used.',
  credentials: {},
  app: clientApp,
  api: 'https://api.pinterest.com/v5',
  auth: { in: 'token' },
  login: {
    kind: 'oauth2',
    authorize: 'https://www.pinterest.com/oauth/',
    token: 'https://api.pinterest.com/v5/oauth/token',
    scopes: ['boards:read', 'boards:write', 'pins:read', 'pins:write', 'user_accounts:read'],
    scopeSeparator: ',',
    secretIn: 'header',
    exchangeAsks: { continuous_refresh: 'true' },
  },
  once: 'read-back',
  threads: 'none',
  limits: {
    text: 800,
    unit: 'characters',
    media: 5,
    needsMedia: true,
    mediaTypes: ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'video/mp4', 'video/x-m4v', 'video/quicktime'],
    image: { count: 5, bytes: 20_000_000 },
    video: { count: 1, beside: 1, bytes: 2_000_000_000, seconds: [4, 900], ratio: [0.562, 1.91] }, // its cover
  },
  settings: Settings,
  plugs: plugsOf('pinterest', ['repost-from']),
  ...pins,
  ...pinterestReading,
});
