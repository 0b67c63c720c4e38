import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.gmicloud.ai/inference-engine/api-reference/llm-api-reference */
export default openaiChat({
  id: 'gmihub',
  status: 'active',
  kind: 'hub',
  title: 'GMI Cloud',
  description: 'Open and partner models on GPUs of GMI.',
  website: 'https://www.gmicloud.ai',
  setupNotes: 'Make a key at console.gmicloud.ai > API keys. Its test asks a question of one token.',
  api: 'https://api.gmi-serving.com/v1',
  models: [
    chatModel('deepseek-ai/DeepSeek-V4-Pro', 1_048_576, 'tools', 'object'),
    chatModel('zai-org/GLM-5.2-FP8', 1_000_000, 'tools', 'object'),
    chatModel('moonshotai/Kimi-K2.6', 65_536, 'tools', 'object'),
    chatModel('Qwen/Qwen3.7-Max', 1_000_000, 'tools'),
  ],
  kinds: ['embedding'],
  quirks: { objects: 'json' },
  verify: { ask: 'moonshotai/Kimi-K2.6' },
});
