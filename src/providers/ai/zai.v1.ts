import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.z.ai */
export default openaiChat({
  id: 'zai',
  status: 'active',
  kind: 'direct',
  title: 'Z.AI (Zhipu GLM)',
  description: 'GLM models.',
  website: 'https://z.ai',
  setupNotes:
    'Make a key at z.ai > API keys. Keys of the Chinese site need https://open.bigmodel.cn/api/paas/v4, coding plans https://api.z.ai/api/coding/paas/v4. Its test asks a free model.',
  api: 'https://api.z.ai/api/paas/v4',
  codes: {
    ...Object.fromEntries([1000, 1001, 1002, 1003, 1004].map((code) => [code, 'reauthorize' as const])),
    ...Object.fromEntries([1113, 1304, 1305, 1306, 1307, 1308, 1309, 1310].map((code) => [code, 'exhausted' as const])),
    ...Object.fromEntries([1302, 1303].map((code) => [code, 'rate_limited' as const])),
    1301: 'rejected',
  },
  models: [
    chatModel('glm-4.7-flash', 200_000, 'tools'),
    chatModel('glm-4.7', 204_800, 'tools'),
    chatModel('glm-5-turbo', 200_000, 'tools'),
    chatModel('glm-5.2', 1_000_000, 'tools'),
  ],
  quirks: { list: null, objects: 'json', ends: { sensitive: 'filter', network_error: 'unavailable' } },
  verify: { ask: 'glm-4.7-flash' },
});
