import { bearerKey, listAt } from './_account.ts';
import { alike, media, ONE_SOUND } from './_contract.ts';
import { openaiErrorOf, openaiMedia } from './_openai-media.ts';

/** https://console.groq.com/docs/api-reference */
export default media({
  id: 'groq',
  version: 'v1',
  status: 'active',
  title: 'Groq',
  description: 'Fast transcriptions by Whisper and speech by Orpheus.',
  website: 'https://groq.com',
  setupNotes: 'The terms of a model of speech are accepted once, in the console.',
  ...bearerKey('console.groq.com/keys'),
  api: 'https://api.groq.com/openai/v1',
  errorOf: openaiErrorOf,
  hub: true,
  models: {
    'canopylabs/orpheus-v1-english': {
      speech: { promptLength: 200, voices: ['autumn', 'diana', 'hannah', 'austin', 'daniel', 'troy'] },
    },
    'canopylabs/orpheus-arabic-saudi': { speech: { promptLength: 200, voices: 'any', anyOf: [['voice']] } },
    ...alike({ transcription: ONE_SOUND }, 'whisper-large-v3-turbo', 'whisper-large-v3'),
  },
  connect: openaiMedia({ voice: 'autumn', format: 'wav' }),
  check: listAt('/models', 'data'),
});
