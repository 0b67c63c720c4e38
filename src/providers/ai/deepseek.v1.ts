import { z } from 'zod';
import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

const Balance = z.object({ is_available: z.boolean() }).transform((balance) => balance.is_available);

/** https://api-docs.deepseek.com */
export default openaiChat({
  id: 'deepseek',
  status: 'active',
  kind: 'direct',
  title: 'DeepSeek',
  description: 'Models for answers and reasoning.',
  website: 'https://www.deepseek.com',
  setupNotes: 'Make a key at platform.deepseek.com > API keys.',
  api: 'https://api.deepseek.com',
  models: [
    chatModel('deepseek-v4-flash', 1_000_000, 'tools'),
    chatModel('deepseek-v4-pro', 1_000_000, 'tools'),
    chatModel('deepseek-flash', undefined, 'tools'),
  ],
  quirks: {
    objects: 'json',
    cachedAt: 'prompt_cache_hit_tokens',
    ends: { insufficient_system_resource: 'unavailable' },
  },
  verify: async ({ http }) =>
    (await http.get('/user/balance', Balance))
      ? 'The key is accepted'
      : 'The key is accepted, but nothing is left to spend',
});
