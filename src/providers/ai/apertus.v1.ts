import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://platform.publicai.co */
export default openaiChat({
  id: 'apertus',
  kind: 'direct',
  title: 'Apertus (Public AI)',
  description: 'Open Swiss models at a non-profit host.',
  website: 'https://publicai.co',
  setupNotes:
    'Make a key at platform.publicai.co. A preview: several hosts serve these models, and the documents of this one were not read; another one is set by its base URL. Its models are counted as free: what yours cost is set in the field Prices.',
  api: 'https://api.publicai.co/v1',
  models: [chatModel('swiss-ai/apertus-8b-instruct', undefined), chatModel('swiss-ai/apertus-70b-instruct', undefined)],
  quirks: { plainMessages: true, objects: 'words' },
  verify: { ask: 'swiss-ai/apertus-8b-instruct' },
});
