import { chatModel, embeddingModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.fireworks.ai */
export default openaiChat({
  id: 'fireworks',
  status: 'active',
  kind: 'hub',
  title: 'Fireworks AI',
  description: 'Open models, served fast.',
  website: 'https://fireworks.ai',
  setupNotes: 'Make a key at app.fireworks.ai > API keys.',
  api: 'https://api.fireworks.ai/inference/v1',
  errors: { 412: 'exhausted' }, // the account is suspended or unpaid
  models: [
    chatModel('accounts/fireworks/models/deepseek-v4-pro', 1_000_000, 'tools', 'object'),
    chatModel('accounts/fireworks/models/kimi-k2p6', 262_000, 'vision', 'tools', 'object'),
    chatModel('accounts/fireworks/models/glm-5p2', 1_048_575, 'tools', 'object'),
    chatModel('accounts/fireworks/models/gpt-oss-120b', 131_072, 'tools', 'object'),
    embeddingModel('nomic-ai/nomic-embed-text-v1.5', 8_192),
  ],
  verify: 'models',
});
