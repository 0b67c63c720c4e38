import { chatModel, embeddingModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.siliconflow.com */
export default openaiChat({
  id: 'siliconflow',
  status: 'active',
  kind: 'hub',
  title: 'SiliconFlow',
  description: 'Open models, at a global and a Chinese site.',
  website: 'https://www.siliconflow.com',
  setupNotes:
    'Make a key at cloud.siliconflow.com. Keys of the Chinese site need the base URL https://api.siliconflow.cn/v1.',
  api: 'https://api.siliconflow.com/v1',
  codes: { 30001: 'exhausted', 50505: 'unavailable' },
  sentences: [[403, /balance/i, 'exhausted']], // with the status of a missing right
  models: [
    chatModel('deepseek-ai/DeepSeek-V4-Pro', 1_000_000, 'tools', 'object'),
    chatModel('Qwen/Qwen3.5-397B-A17B', 262_144, 'tools', 'object'),
    chatModel('MiniMaxAI/MiniMax-M2.5', 197_000, 'tools'),
    embeddingModel('BAAI/bge-m3', 8_192),
  ],
  quirks: { list: '/models?sub_type=chat', objects: 'json' },
  verify: { read: '/user/info', left: 'data.totalBalance' },
});
