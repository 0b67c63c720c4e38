import { chatModel, embeddingModel } from './_models.ts';
import { LATER_COST, openaiChat } from './_openai-chat.ts';

/** https://vercel.com/docs/ai-gateway */
export default openaiChat({
  id: 'gateway',
  status: 'active',
  kind: 'hub',
  title: 'Vercel AI Gateway',
  description: 'One key and one budget for models of many makers.',
  website: 'https://vercel.com/ai-gateway',
  setupNotes:
    'Make a key in the Vercel dashboard > AI Gateway. Access tokens of Vercel cannot read the credits, so that the test refuses them.',
  api: 'https://ai-gateway.vercel.sh/v1',
  codes: {
    authentication_error: 'reauthorize',
    model_not_found: 'rejected',
    timeout_error: 'lost',
    failed_dependency: 'unavailable',
  },
  models: [
    chatModel('openai/gpt-5.4-mini', 400_000, 'vision', 'tools', 'object'),
    chatModel('anthropic/claude-sonnet-5', 1_000_000, 'vision', 'tools', 'object'),
    chatModel('google/gemini-3.5-flash', 1_000_000, 'vision', 'tools', 'object'),
    chatModel('alibaba/qwen3.7-max', 991_000, 'tools'),
    embeddingModel('openai/text-embedding-3-small', 8_191),
  ],
  quirks: {
    objects: 'json',
    costLookUp: { path: '/generation', says: LATER_COST },
  },
  verify: { read: '/credits', left: 'balance' },
});
