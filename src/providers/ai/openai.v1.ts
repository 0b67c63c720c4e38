import { text } from '../kit/declare/fields.ts';
import { modelsOrQuestion } from './_chat-proof.ts';
import { chatModel, embeddingModel } from './_models.ts';
import { bearer, openaiChat } from './_openai-chat.ts';

/** https://platform.openai.com/docs/api-reference/chat */
export default openaiChat({
  id: 'openai',
  status: 'active',
  kind: 'direct',
  title: 'OpenAI',
  description: 'GPT models, embeddings.',
  website: 'https://openai.com',
  setupNotes: 'Make a key at platform.openai.com > API keys. Answers are not stored at OpenAI.',
  credentials: {
    organization: text('Organization ID', { required: false, maxLength: 100 }),
    project: text('Project ID', { required: false, maxLength: 100 }),
  },
  api: 'https://api.openai.com/v1',
  auth: [
    bearer,
    { in: 'header', name: 'openai-organization', field: 'organization' },
    { in: 'header', name: 'openai-project', field: 'project' },
  ],
  models: [
    chatModel('gpt-5.4-mini', 400_000, 'vision', 'tools', 'object'),
    chatModel('gpt-5.5', 1_050_000, 'vision', 'tools', 'object'),
    chatModel('gpt-5.6', undefined, 'vision', 'tools', 'object'),
    chatModel('gpt-6-luna', undefined, 'vision', 'tools', 'object'),
    chatModel('gpt-6.1-terra', undefined, 'vision', 'tools', 'object'),
    chatModel('gpt-6.1-sol', undefined, 'vision', 'tools', 'object'),
    embeddingModel('text-embedding-3-small', 8_191),
    embeddingModel('text-embedding-3-large', 8_191),
  ],
  quirks: { lengthField: 'max_completion_tokens', body: { store: false } },
  verify: modelsOrQuestion('gpt-5.4-mini', 'max_completion_tokens'),
});
