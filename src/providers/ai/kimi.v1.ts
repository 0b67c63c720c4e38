import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://platform.moonshot.ai/docs/api/chat */
export default openaiChat({
  id: 'kimi',
  status: 'active',
  kind: 'direct',
  title: 'Kimi (Moonshot AI)',
  description: 'Kimi models with long contexts.',
  website: 'https://www.moonshot.ai',
  setupNotes:
    'Make a key at platform.moonshot.ai. Keys of the Chinese site need the base URL https://api.moonshot.cn/v1.',
  api: 'https://api.moonshot.ai/v1',
  codes: {
    exceeded_current_quota_error: 'exhausted',
    engine_overloaded_error: 'unavailable',
    rate_limit_reached_error: 'rate_limited',
  },
  models: [
    chatModel('kimi-k2.6', 262_144, 'vision', 'tools', 'object'),
    chatModel('kimi-k2.7-code', 262_144, 'vision', 'tools', 'object'),
    chatModel('kimi-k3', undefined, 'tools'),
    chatModel('moonshot-v1-auto', undefined, 'tools'),
  ],
  quirks: { objects: 'json', cachedAt: 'cached_tokens' },
  verify: { read: '/users/me/balance', left: 'data.available_balance' },
});
