import { social } from './_contract.ts';
import { gmbLocations, HOSTS } from './_gmb-locations.ts';
import { gmbPosts, PHOTO, Settings } from './_gmb-post.ts';
import { googleApp, googleFailure, googleLogin } from './_google.ts';

/** https://developers.google.com/my-business/reference/rest/v4/accounts.locations.localPosts */
export default social({
  id: 'gmb',
  version: 'v1',
  status: 'active',
  title: 'Google Business Profile',
  description: 'Updates, events and offers of a business in Google Search and Maps.',
  website: 'https://business.google.com',
  authType: 'oauth2',
  setupNotes:
    'Google grants access to its business APIs for each project on request; until then the quota is 0. Posts with a telephone number in the text are refused.',
  credentials: {},
  app: googleApp,
  api: 'https://mybusiness.googleapis.com/v4',
  hosts: HOSTS,
  auth: [
    { in: 'token' },
    ...Object.keys(HOSTS).map(
      (host) => ({ in: 'header', host, name: 'authorization', prefix: 'Bearer ', token: true }) as const,
    ),
  ],
  errorOf: googleFailure,
  login: googleLogin([
    'https://www.googleapis.com/auth/business.manage',
    'https://www.googleapis.com/auth/userinfo.profile',
    'https://www.googleapis.com/auth/userinfo.email',
  ]),
  once: 'read-back',
  threads: 'none',
  limits: {
    text: 1_500,
    unit: 'characters',
    media: 1,
    mediaTypes: PHOTO.types,
    image: { bytes: PHOTO.maxBytes, side: [250, 10_000] },
    fetches: ['image'],
  },
  releaseIds: {
    form: /^(?<account>accounts\/\w{1,100}\/locations\/\w{1,100})\/localPosts\/[\w-]{1,100}$/,
    words: 'the name of the post: accounts/<id>/locations/<id>/localPosts/<id>',
  },
  settings: Settings,
  ...gmbLocations,
  ...gmbPosts,
});
