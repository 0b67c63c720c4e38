import { chatModel, embeddingModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.together.ai */
export default openaiChat({
  id: 'togetherai',
  status: 'active',
  kind: 'hub',
  title: 'Together AI',
  description: 'Open models by the token.',
  website: 'https://www.together.ai',
  setupNotes: 'Make a key at api.together.ai > Settings > API keys.',
  api: 'https://api.together.ai/v1',
  models: [
    chatModel('openai/gpt-oss-120b', 131_072, 'tools', 'object'),
    chatModel('zai-org/GLM-5.2', 262_144, 'tools', 'object'),
    chatModel('moonshotai/Kimi-K2.6', 262_144, 'vision', 'tools', 'object'),
    chatModel('deepseek-ai/DeepSeek-V4-Pro', 512_000, 'tools', 'object'),
    embeddingModel('BAAI/bge-base-en-v1.5', 512),
  ],
  quirks: { objects: 'json', ends: { eos: 'stop' } },
  verify: 'models',
});
