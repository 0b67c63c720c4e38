import { text } from '../kit/declare/fields.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { mastodonApi } from './_mastodon-api.ts';

/** https://docs.joinmastodon.org/methods/statuses/ */
export default mastodonApi({
  id: 'mastodon',
  title: 'Mastodon',
  description: 'Statuses on a Mastodon server, or one that speaks its API.',
  website: 'https://joinmastodon.org',
  instance: 'https://mastodon.social',
  app: { ...clientApp, server: text('Server on which the app is registered', { form: 'origin' }) },
  scopes: ['read:accounts', 'read:statuses', 'read:search', 'write:statuses', 'write:media'],
  visibilities: ['public', 'unlisted', 'private', 'direct'],
  limits: {
    text: 500,
    countedSettings: ['spoiler_text'],
    unit: 'graphemes', // as app/validators/status_length_validator.rb of the server does
    linkLength: 23,
    shortMentions: true,
    media: 4,
    oneKind: true,
    image: { bytes: 16_777_216 },
    video: { count: 1, bytes: 103_809_024 },
    audio: { count: 1, bytes: 103_809_024 },
    mediaTypes: [
      'image/jpeg',
      'image/png',
      'image/gif',
      'image/webp',
      'image/heic',
      'image/avif',
      'video/mp4',
      'video/webm',
      'video/quicktime',
    ],
  },
  forbidden: 'reauthorize', // the login is disabled, or lacks a scope
});
