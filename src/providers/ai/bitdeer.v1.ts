import { openaiChat } from './_openai-chat.ts';

/** https://www.bitdeer.ai/docs */
export default openaiChat({
  id: 'bitdeer',
  kind: 'hub',
  title: 'Bitdeer AI',
  description: 'Open models by the token.',
  website: 'https://www.bitdeer.ai',
  setupNotes:
    'Make a key in the Bitdeer AI console. A preview: which models there are, and what they cost, was not seen; set their prices in the field Prices.',
  api: 'https://api-inference.bitdeer.ai/v1',
  models: [],
  kinds: ['text', 'embedding'],
  quirks: { objects: 'json' },
  verify: 'list',
});
