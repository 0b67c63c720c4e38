import { chatModel, embeddingModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.deepinfra.com */
export default openaiChat({
  id: 'deepinfra',
  status: 'active',
  kind: 'hub',
  title: 'DeepInfra',
  description: 'Open models without servers of your own.',
  website: 'https://deepinfra.com',
  setupNotes:
    'Make a key at deepinfra.com > Dashboard > API keys. Its test asks a question of one token, as the list of models is public.',
  api: 'https://api.deepinfra.com/v1/openai',
  models: [
    chatModel('deepseek-ai/DeepSeek-V4-Pro', 1_048_576, 'tools', 'object'),
    chatModel('zai-org/GLM-5.2', 1_048_576, 'tools', 'object'),
    chatModel('moonshotai/Kimi-K2.6', 262_144, 'vision', 'tools', 'object'),
    chatModel('openai/gpt-oss-120b', 131_072, 'tools'),
    embeddingModel('BAAI/bge-m3', 8_192),
  ],
  quirks: { cost: { at: ['estimated_cost'], dollars: 1 }, objects: 'json' },
  verify: { ask: 'openai/gpt-oss-120b' },
});
