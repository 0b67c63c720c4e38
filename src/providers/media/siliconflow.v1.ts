import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { creditsAt } from './_key-checks.ts';
import { pictures, speech, transcription } from './_openai-media.ts';
import { firstAsUrl, operations } from './_operations.ts';
import { regionField } from './_region.ts';

const image = { sizes: ['1024x1024', '960x1280', '768x1024', '720x1440', '720x1280'], count: 4 };
const clips = ['1280x720', '720x1280', '960x960'];
const list = 'images';
const one = { kinds: ['image'], min: 1, max: 1 } as const;

const jobs = jobPoll({
  jobs: {
    video: {
      submit: ({ model, prompt, size, sources }) => ({
        path: '/video/submit',
        json: { model, prompt, image_size: size, image: publicUrls(sources).image[0] },
      }),
      id: 'requestId',
      poll: '/video/status',
      pollBody: ({ id }) => ({ requestId: id }),
      outputs: 'results.videos.*.url',
      error: ['reason'],
      failures: [[/sensitive|prohibited|policy/i, 'rejected']],
    },
  },
});

/** https://docs.siliconflow.com/en/api-reference */
export default media({
  id: 'siliconflow',
  version: 'v1',
  status: 'active',
  title: 'SiliconFlow',
  description: 'Open models for pictures, videos and speech.',
  website: 'https://www.siliconflow.com',
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key', { help: 'cloud.siliconflow.com, API keys' }),
    region: regionField(
      { global: 'Global', china: 'China' },
      { help: 'Where the account is: keys of one region are unknown in the other' },
    ),
  },
  api: 'https://api.siliconflow.com/v1',
  regions: { china: 'https://api.siliconflow.cn/v1' },
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: z.union([
    z.object({ code: z.literal(30_001) }).transform(() => 'exhausted' as const),
    z.object({ status: z.literal(403), message: z.string().regex(/balance/i) }).transform(() => 'exhausted' as const),
    z.object({ code: z.literal(50_505) }).transform(() => 'unavailable' as const), // too much to do, and nothing begun
  ]),
  hub: true,
  models: [
    { id: 'Qwen/Qwen-Image', operations: { image } },
    {
      id: 'black-forest-labs/FLUX.1-Kontext-pro',
      operations: { image, edit: { sources: one } },
    },
    { id: 'Wan-AI/Wan2.2-T2V-A14B', operations: { video: { sizes: clips } } },
    {
      id: 'Wan-AI/Wan2.2-I2V-A14B',
      operations: { video: { sizes: clips, sources: { ...one, fetched: true } } },
    },
    { id: 'FunAudioLLM/CosyVoice2-0.5B', operations: { speech: { voices: 'any' } } },
    {
      id: 'FunAudioLLM/SenseVoiceSmall',
      operations: { transcription: { prompt: 'none', sources: { kinds: ['audio', 'video'], min: 1, max: 1 } } },
    },
  ],
  rhythm: { everyMs: 10_000, mostMs: 3_600_000, keptMs: 3_600_000 },
  connect: (line) =>
    operations(
      {
        image: ({ model, prompt, size, count }) =>
          pictures(
            line,
            '/images/generations',
            { json: { model, prompt, image_size: size, batch_size: count } },
            { list },
          ),
        edit: (request) =>
          pictures(
            line,
            '/images/generations',
            { json: { model: request.model, prompt: request.prompt, image: firstAsUrl(request) } },
            { list },
          ),
        speech: ({ model, prompt, voice = `${model}:alex` }) =>
          speech(line, '/audio/speech', { model, input: prompt, voice, response_format: 'mp3' }, prompt),
        transcription: (request) =>
          transcription(
            line,
            '/audio/transcriptions',
            { multipart: { model: request.model!, file: request.sources[0] } },
            request,
          ),
      },
      jobs(line),
    ),
  check: creditsAt('/user/info', 'data.totalBalance'),
});
