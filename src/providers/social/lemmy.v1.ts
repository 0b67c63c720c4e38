import { social } from './_contract.ts';
import { failureAt } from './_failures.ts';
import { credentials, signIn } from './_lemmy-login.ts';
import { IMAGE_TYPES, lemmyPosts, Settings } from './_lemmy-posts.ts';
import { lemmyPublic } from './_lemmy-public.ts';
import { lemmyReading } from './_lemmy-reading.ts';
import { place, plugsOf, titleField } from './_plugs.ts';

/** Accounts are those of a server, which numbers its communities itself. */
const serverOf = (account: string): string => account.split('@').at(-1)!;
const COMMUNITY = place('community', 'Number of the community in which it is posted', '12', '^\\d{1,15}$', serverOf);

/** https://join-lemmy.org/docs/contributors/04-api.html */
export default social({
  id: 'lemmy',
  version: 'v1',
  status: 'active',
  title: 'Lemmy',
  description: 'Posts in communities of a federated Lemmy server.',
  website: 'https://join-lemmy.org',
  authType: 'password',
  setupNotes:
    'Lemmy has no app passwords: the password of the account is kept, encrypted. Accounts with a second factor cannot be connected.',
  credentials,
  api: '{service}',
  auth: { in: 'token' },
  errorOf: failureAt('error', {
    incorrect_login: 'reauthorize',
    not_logged_in: 'reauthorize',
    missing_totp_token: 'reauthorize',
    rate_limit_error: 'rate_limited',
  }),
  login: { kind: 'credentials', signIn, refresh: signIn },
  once: 'read-back',
  threads: 'comment',
  editor: 'markdown',
  limits: { text: 10_000, unit: 'characters', media: 10, mediaTypes: IMAGE_TYPES },
  settings: Settings,
  plugs: plugsOf('lemmy', ['auto-comment', 'repost-from', 'comment-from'], ['lemmy'], [COMMUNITY, titleField(3, 200)]),
  ...lemmyPosts,
  ...lemmyReading,
  ...lemmyPublic,
});
