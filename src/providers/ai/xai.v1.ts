import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

const Key = z
  .object({ api_key_blocked: z.boolean(), team_blocked: z.boolean() })
  .transform(({ api_key_blocked: key, team_blocked: team }) => key || team);

/** https://docs.x.ai */
export default openaiChat({
  id: 'xai',
  status: 'active',
  kind: 'direct',
  title: 'xAI',
  description: 'Grok models.',
  website: 'https://x.ai',
  setupNotes: 'Make a key at console.x.ai > API keys.',
  api: 'https://api.x.ai/v1',
  sentences: [
    [400, /incorrect api key/i, 'reauthorize'],
    [403, /usage guidelines/i, 'rejected'],
    [429, /credit/i, 'exhausted'],
  ],
  models: [
    chatModel('grok-4.3', 1_000_000, 'vision', 'tools', 'object'),
    chatModel('grok-4.6', undefined, 'vision', 'tools', 'object'),
    chatModel('grok-4.7', undefined, 'vision', 'tools', 'object'),
    chatModel('grok-latest', undefined, 'vision', 'tools', 'object'),
  ],
  quirks: { cost: { at: ['cost_in_usd_ticks'], dollars: 1e-10 }, reasoningBeside: true, objects: 'json' },
  verify: async ({ http }) => {
    if (await http.get('/api-key', Key)) throw refused('reauthorize', 'xAI has blocked this key or its team');
    return 'The key is accepted';
  },
});
