import { z } from 'zod';
import { social } from './_contract.ts';
import { failureAt } from './_failures.ts';
import { peertubeChannels } from './_peertube-channel.ts';
import { credentials, refresh, signIn } from './_peertube-login.ts';
import { peertubeReading } from './_peertube-reading.ts';
import { Settings } from './_peertube-upload.ts';
import { peertubeVideos } from './_peertube-videos.ts';
import { plugsOf } from './_plugs.ts';

const disabled = z.string().regex(/comments are disabled/i);
/** The status of a range that is not the next one, and of a comment where there are none; older servers say `error`. */
const NoComments = z
  .union([
    z.object({ status: z.literal(409), detail: disabled }),
    z.object({ status: z.literal(409), error: disabled }),
  ])
  .transform(() => 'rejected' as const);

/** https://docs.joinpeertube.org/api-rest-reference.html */
export default social({
  id: 'peertube',
  version: 'v1',
  status: 'active',
  title: 'PeerTube',
  description: 'Videos on a channel of a federated PeerTube server.',
  website: 'https://joinpeertube.org',
  authType: 'password',
  setupNotes:
    'The password of the account is kept, encrypted. Accounts with a second factor cannot be connected. The server limits the size of files and the space of each account.',
  credentials,
  api: '{service}/api/v1',
  auth: { in: 'token' },
  errors: { 409: 'unavailable' }, // a range that is not the next one: the upload asks where it goes on
  errorOf: z.union([failureAt('code', { invalid_grant: 'reauthorize', invalid_token: 'reauthorize' }), NoComments]),
  login: { kind: 'credentials', signIn, refresh },
  once: 'two-phase',
  threads: 'comment',
  editor: 'markdown',
  limits: { text: 10_000, textLeast: 3, unit: 'characters', media: 1, needsMedia: true, mediaTypes: ['video/*'] },
  settings: Settings,
  plugs: plugsOf('peertube', ['auto-comment', 'comment-from']),
  ...peertubeChannels,
  ...peertubeVideos,
  ...peertubeReading,
});
