import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.perplexity.ai */
export default openaiChat({
  id: 'perplexity',
  status: 'active',
  kind: 'direct',
  title: 'Perplexity',
  description: 'Answers with what a search of the web finds.',
  website: 'https://www.perplexity.ai',
  setupNotes:
    'Make a key at perplexity.ai > Settings > API. Its test asks a question of one token. Embeddings are not offered here.',
  api: 'https://api.perplexity.ai',
  models: [
    chatModel('sonar', 128_000, 'object'),
    chatModel('sonar-pro', 200_000, 'vision', 'object'),
    chatModel('sonar-reasoning-pro', 128_000, 'vision', 'object'),
    chatModel('sonar-deep-research', 128_000, 'object'),
  ],
  quirks: { list: null, cost: { at: ['cost', 'total_cost'], dollars: 1 } },
  verify: { ask: 'sonar' },
});
