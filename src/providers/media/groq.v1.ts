import { secret } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { listAt } from './_key-checks.ts';
import { ONE_SOUND, openaiErrorOf, speech, transcription, transcriptForm } from './_openai-media.ts';
import { operations } from './_operations.ts';

/** https://console.groq.com/docs/api-reference */
export default media({
  id: 'groq',
  version: 'v1',
  status: 'active',
  title: 'Groq',
  description: 'Fast transcriptions by Whisper and speech by Orpheus.',
  website: 'https://groq.com',
  authType: 'api_key',
  setupNotes: 'The terms of a model of speech are accepted once, in the console.',
  credentials: { apiKey: secret('API key', { help: 'console.groq.com/keys' }) },
  api: 'https://api.groq.com/openai/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: openaiErrorOf,
  hub: true,
  models: [
    {
      id: 'canopylabs/orpheus-v1-english',
      operations: { speech: { promptLength: 200, voices: ['autumn', 'diana', 'hannah', 'austin', 'daniel', 'troy'] } },
    },
    {
      id: 'canopylabs/orpheus-arabic-saudi',
      operations: { speech: { promptLength: 200, voices: 'any', anyOf: [['voice']] } },
    },
    { id: 'whisper-large-v3-turbo', operations: { transcription: ONE_SOUND } },
    { id: 'whisper-large-v3', operations: { transcription: ONE_SOUND } },
  ],
  connect: (line) =>
    operations({
      speech: ({ model, prompt, voice = 'autumn' }) =>
        speech(line, '/audio/speech', { model, input: prompt, voice, response_format: 'wav' }, prompt),
      transcription: (request) =>
        transcription(line, '/audio/transcriptions', { multipart: transcriptForm(request) }, request),
    }),
  check: listAt('/models', 'data'),
});
