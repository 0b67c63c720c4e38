import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://api.vultrinference.com */
export default openaiChat({
  id: 'vultr',
  status: 'active',
  kind: 'hub',
  title: 'Vultr Serverless Inference',
  description: 'Open models on GPUs of Vultr.',
  website: 'https://www.vultr.com/products/cloud-inference',
  setupNotes:
    'Use the key of a Serverless Inference subscription, not that of the account. Its test asks a question of one token.',
  api: 'https://api.vultrinference.com/v1',
  models: [
    chatModel('MiniMaxAI/MiniMax-M2.7', 204_800, 'tools'),
    chatModel('moonshotai/Kimi-K2.6', 262_144, 'tools', 'object'),
    chatModel('zai-org/GLM-5.1-FP8', 200_000, 'tools', 'object'),
  ],
  quirks: { objects: 'json' },
  verify: { ask: 'MiniMaxAI/MiniMax-M2.7' },
});
