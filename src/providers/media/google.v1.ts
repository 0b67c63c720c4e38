import { inBase64 } from '../kit/protocols/json-body.ts';
import { OPERATION_MS } from '../kit/wire/large.ts';
import { keyIn, listAt } from './_account.ts';
import { alike, media } from './_contract.ts';
import { geminiMedia } from './_gemini-media.ts';
import { DRAWING, FILMING, googleErrorOf, VOICES } from './_google.ts';

/** https://ai.google.dev/api; pictures by Gemini, since Imagen has ended. */
export default media({
  id: 'google',
  version: 'v1',
  status: 'active',
  title: 'Google Gemini',
  description: 'Pictures and speech by Gemini, and videos by Veo.',
  website: 'https://ai.google.dev',
  ...keyIn({ name: 'x-goog-api-key' }, 'aistudio.google.com/apikey'),
  api: 'https://generativelanguage.googleapis.com/v1beta',
  errorOf: googleErrorOf,
  models: {
    ...alike(DRAWING, 'gemini-3.1-flash-image', 'gemini-3-pro-image', 'gemini-nano-banana-2.1'),
    ...alike(FILMING, 'veo-3.1-generate-preview', 'veo-3.1-fast-generate-preview'),
    'gemini-3.8-flash-tts': { speech: { promptLength: 8_000, voices: VOICES } },
  },
  rhythm: { everyMs: 10_000, mostMs: 1_800_000, keptMs: 172_800_000 },
  connect: (line) =>
    geminiMedia(line, {
      frame: (file) => ({ inlineData: { mimeType: file.contentType, data: inBase64(file) } }),
      question: ({ name }) => ({ method: 'GET', path: `/${name}`, timeoutMs: OPERATION_MS.poll }),
    }),
  check: listAt('/models?pageSize=1', 'models'),
});
