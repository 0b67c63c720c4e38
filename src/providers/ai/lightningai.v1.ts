import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://lightning.ai/docs/platform/inference */
export default openaiChat({
  id: 'lightningai',
  status: 'active',
  kind: 'hub',
  title: 'Lightning AI',
  description: 'Models of many makers on credits of Lightning.',
  website: 'https://lightning.ai',
  setupNotes:
    'Make a key at lightning.ai > Settings. Its test asks a question of one token. Some keys need a teamspace in the settings of the account. No price of its models is known: under a cap of spending set them in the field Prices.',
  api: 'https://lightning.ai/api/v1',
  models: [chatModel('openai/gpt-5', undefined, 'tools')],
  quirks: { objects: 'json' },
  verify: { ask: 'openai/gpt-5' },
});
