import { bearerKey, listAt } from './_account.ts';
import { alike, fetchedFiles, media, ONE_SOUND } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import { openaiMedia } from './_openai-media.ts';
import { pixelsOf } from './_operations.ts';

const image = { sizes: ['1024x1024', '1280x768', '768x1280', '1344x768', '768x1344'], count: 4 };
const video = {
  sizes: ['1280x720', '720x1280', '1366x768', '768x1366'],
  seconds: { from: 3, to: 10 },
  secondsNeeded: true,
  sources: fetchedFiles(0, 1, 'image'),
} as const;

/** https://docs.together.ai/reference */
export default media({
  id: 'togetherai',
  version: 'v1',
  status: 'active',
  title: 'Together AI',
  description: 'Open models for pictures, videos, speech and transcriptions.',
  website: 'https://www.together.ai',
  ...bearerKey('api.together.ai/settings/api-keys'),
  api: 'https://api.together.ai',
  hub: true,
  models: {
    ...alike({ image }, 'black-forest-labs/FLUX.1-schnell', 'black-forest-labs/FLUX.2-pro'),
    'minimax/hailuo-02': { video },
    'hexgrad/Kokoro-82M': { speech: { voices: 'any' } },
    'cartesia/sonic': { speech: { voices: 'any', anyOf: [['voice']] } },
    'openai/whisper-large-v3': { transcription: ONE_SOUND },
  },
  connect: openaiMedia({
    under: '/v1',
    image: ({ model, prompt, size, count }) => ({
      json: { model, prompt, n: count, ...pixelsOf(size), response_format: 'base64' }, // spares a second call
    }),
    voice: 'af_heart',
    times: 'timestamp_granularities',
    jobs: jobPoll({
      video: {
        submit: asJson('/v2/videos', ({ model, prompt, size, seconds, images: [first] }) => ({
          model,
          prompt,
          seconds: seconds?.toString(),
          ...pixelsOf(size),
          ...(first && { media: { frame_images: [{ input_image: first, frame: 'first' }] } }),
        })),
        poll: '/v2/videos/{id}',
        outputs: 'outputs.video_url',
        error: ['error.message'],
        failures: [[/nsfw|safety|moderat/i, 'rejected']],
        cost: { at: 'outputs.cost', micros: 1_000_000 },
      },
    }),
  }),
  check: listAt('/v1/models', ''),
});
