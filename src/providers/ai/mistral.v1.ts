import { chatModel, embeddingModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.mistral.ai/api */
export default openaiChat({
  id: 'mistral',
  status: 'active',
  kind: 'direct',
  title: 'Mistral AI',
  description: 'Mistral models for answers and embeddings.',
  website: 'https://mistral.ai',
  setupNotes: 'Make a key at console.mistral.ai > API keys.',
  api: 'https://api.mistral.ai/v1',
  models: [
    chatModel('mistral-small-latest', 256_000, 'vision', 'tools', 'object'),
    chatModel('mistral-medium-3.5', undefined, 'vision', 'tools', 'object'),
    chatModel('mistral-large-4', undefined, 'tools', 'object'),
    chatModel('ministral-8b-latest', 128_000, 'tools', 'object'),
    embeddingModel('mistral-embed', 8_000),
  ],
  quirks: { streamUsage: 'unasked', ends: { model_length: 'length', error: 'unavailable' } },
  verify: 'models',
});
