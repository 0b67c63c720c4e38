import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

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
  verify: { read: '/user/balance', left: 'balance_infos.0.total_balance' },
});
