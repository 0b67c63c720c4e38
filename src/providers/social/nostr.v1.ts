import { social } from './_contract.ts';
import { credentials } from './_nostr-identity.ts';
import { nostrNotes, Settings } from './_nostr-posts.ts';
import { nostrReading } from './_nostr-reading.ts';
import { plugsOf } from './_plugs.ts';

/** https://github.com/nostr-protocol/nips */
export default social({
  id: 'nostr',
  version: 'v1',
  status: 'active',
  title: 'Nostr',
  description: 'Signed notes, sent to several relays at once.',
  website: 'https://nostr.com',
  authType: 'password',
  setupNotes: 'The private key controls the identity for ever and cannot be replaced. It is stored sealed.',
  credentials,
  api: 'wss:', // there is no server: notes go to the relays
  isWeb3: true,
  once: 'own-id',
  threads: 'reply',
  limits: {
    text: 60_000,
    unit: 'bytes',
    media: 20,
    mediaTypes: ['image/*', 'video/*', 'audio/*'],
    fetches: ['image', 'video', 'audio'],
  },
  settings: Settings,
  timeoutMs: 10_000, // to open, and again to answer
  settlesWithinMs: 30_000,
  login: { kind: 'credentials' },
  plugs: plugsOf('nostr', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']),
  ...nostrNotes,
  ...nostrReading,
});
