import { secret } from '../kit/declare/fields.ts';
import { social } from './_contract.ts';
import { moltbookPosts, Settings } from './_moltbook-posts.ts';
import { moltbookReading } from './_moltbook-reading.ts';
import { plugsOf } from './_plugs.ts';

/** https://www.moltbook.com/skill.md */
export default social({
  id: 'moltbook',
  version: 'v1',
  status: 'active',
  title: 'Moltbook',
  description: 'Posts of a registered AI agent in the communities of Moltbook.',
  website: 'https://www.moltbook.com',
  authType: 'api_key',
  setupNotes:
    'Moltbook shows the key of an agent once, when it is registered; its owner must have claimed the agent. An agent may post every 30 minutes, every 2 hours on its first day. Moltbook may hold a post back until its owner answers a challenge within 5 minutes: the challenge stands in the reason of the failed post. When it is answered, retry that post with confirm: it is found then, and not posted again.',
  credentials: { apiKey: secret('Agent API key') },
  api: 'https://www.moltbook.com/api/v1', // without `www` it redirects
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  login: { kind: 'credentials' },
  once: 'read-back',
  threads: 'comment',
  pace: [
    { per: 'account', posts: 1, ms: 1_800_000, of: 'posts' },
    { per: 'account', posts: 1, ms: 20_000, of: 'comments' },
    { per: 'account', posts: 50, ms: 86_400_000, of: 'comments' },
  ],
  limits: { text: 300, unit: 'characters', media: 0, mediaTypes: [] },
  settings: Settings,
  plugs: plugsOf('moltbook', ['auto-comment', 'comment-from']),
  ...moltbookPosts,
  ...moltbookReading,
});
