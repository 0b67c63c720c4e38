import { mastodonApi } from './_mastodon-api.ts';

/**
 * https://docs.pixelfed.org, which names Mastodon's API where Pixelfed has it; its differences are those of its server
 * (AccountsProfile.php, StatusController.php of pixelfed/pixelfed)
 */
export default mastodonApi({
  id: 'pixelfed',
  title: 'Pixelfed',
  description: 'Photo posts on a federated Pixelfed server.',
  website: 'https://pixelfed.org',
  instance: 'https://pixelfed.social',
  scopes: ['read', 'write'],
  visibilities: ['public', 'unlisted', 'private'],
  refuses: ['place'],
  limits: {
    text: 500,
    unit: 'characters',
    media: 4,
    needsMedia: true,
    image: { bytes: 15_000_000 },
    mediaTypes: ['image/jpeg', 'image/png', 'image/gif'],
  },
  forbidden: 'rejected',
  quirks: {
    noPkce: true,
    noRevocation: true,
    noIdempotencyKey: true,
    mediaV1: true,
    answersShown: 20,
    stripsTags: true,
    warning: 140,
    alt: 1_000,
    noLanguage: true,
  },
});
