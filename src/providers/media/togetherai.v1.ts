import { secret } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { listAt } from './_key-checks.ts';
import { ONE_SOUND, pictures, speech, transcription, transcriptForm } from './_openai-media.ts';
import { operations, pixelsOf } from './_operations.ts';

const sizes = ['1024x1024', '1280x768', '768x1280', '1344x768', '768x1344'];
const image = { sizes, count: 4 };
const video = {
  sizes: ['1280x720', '720x1280', '1366x768', '768x1366'],
  seconds: { from: 3, to: 10 },
  secondsNeeded: true,
  sources: { kinds: ['image'], min: 0, max: 1, fetched: true },
} as const;

const jobs = jobPoll({
  jobs: {
    video: {
      submit: ({ model, prompt, size, seconds, sources }) => {
        const [first] = publicUrls(sources).image;
        return {
          path: '/v2/videos',
          json: {
            model,
            prompt,
            seconds: seconds?.toString(),
            ...pixelsOf(size),
            ...(first && { media: { frame_images: [{ input_image: first, frame: 'first' }] } }),
          },
        };
      },
      poll: '/v2/videos/{id}',
      outputs: 'outputs.video_url',
      error: ['error.message'],
      failures: [[/nsfw|safety|moderat/i, 'rejected']],
      cost: { at: 'outputs.cost', micros: 1_000_000 },
    },
  },
});

/** https://docs.together.ai/reference */
export default media({
  id: 'togetherai',
  version: 'v1',
  status: 'active',
  title: 'Together AI',
  description: 'Open models for pictures, videos, speech and transcriptions.',
  website: 'https://www.together.ai',
  authType: 'api_key',
  credentials: { apiKey: secret('API key', { help: 'api.together.ai/settings/api-keys' }) },
  api: 'https://api.together.ai',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  hub: true,
  models: [
    { id: 'black-forest-labs/FLUX.1-schnell', operations: { image } },
    { id: 'black-forest-labs/FLUX.2-pro', operations: { image } },
    { id: 'minimax/hailuo-02', operations: { video } },
    { id: 'hexgrad/Kokoro-82M', operations: { speech: { voices: 'any' } } },
    { id: 'cartesia/sonic', operations: { speech: { voices: 'any', anyOf: [['voice']] } } },
    { id: 'openai/whisper-large-v3', operations: { transcription: ONE_SOUND } },
  ],
  connect: (line) =>
    operations(
      {
        image: ({ model, prompt, size, count }) =>
          pictures(line, '/v1/images/generations', {
            json: { model, prompt, n: count, ...pixelsOf(size), response_format: 'base64' }, // spares a second call
          }),
        speech: ({ model, prompt, voice = 'af_heart' }) =>
          speech(line, '/v1/audio/speech', { model, input: prompt, voice, response_format: 'mp3' }, prompt),
        transcription: (request) =>
          transcription(
            line,
            '/v1/audio/transcriptions',
            { multipart: transcriptForm(request, 'timestamp_granularities') },
            request,
          ),
      },
      jobs(line),
    ),
  check: listAt('/v1/models', ''),
});
