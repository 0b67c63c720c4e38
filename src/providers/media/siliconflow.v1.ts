import { z } from 'zod';
import { bearerKey, creditsAt, regionField, shaped } from './_account.ts';
import { media, sentFiles } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import { openaiMedia } from './_openai-media.ts';
import { firstAsUrl } from './_operations.ts';

const image = { sizes: ['1024x1024', '960x1280', '768x1024', '720x1440', '720x1280'], count: 4 };
const clips = ['1280x720', '720x1280', '960x960'];
const one = sentFiles(1, 1, 'image');

/** https://docs.siliconflow.com/en/api-reference */
export default media({
  id: 'siliconflow',
  version: 'v1',
  status: 'active',
  title: 'SiliconFlow',
  description: 'Open models for pictures, videos and speech.',
  website: 'https://www.siliconflow.com',
  api: 'https://api.siliconflow.com/v1',
  regions: { china: 'https://api.siliconflow.cn/v1' },
  ...bearerKey('cloud.siliconflow.com, API keys', {
    fields: {
      region: regionField(
        { global: 'Global', china: 'China' },
        { help: 'Where the account is: keys of one region are unknown in the other' },
      ),
    },
  }),
  errorOf: z.union([
    shaped({ code: z.literal(30_001) }, 'exhausted'),
    shaped({ status: z.literal(403), message: z.string().regex(/balance/i) }, 'exhausted'),
    shaped({ code: z.literal(50_505) }, 'unavailable'), // too much to do, and nothing begun
  ]),
  hub: true,
  models: {
    'Qwen/Qwen-Image': { image },
    'black-forest-labs/FLUX.1-Kontext-pro': { image, edit: { sources: one } },
    'Wan-AI/Wan2.2-T2V-A14B': { video: { sizes: clips } },
    'Wan-AI/Wan2.2-I2V-A14B': { video: { sizes: clips, sources: { ...one, fetched: true } } },
    'FunAudioLLM/CosyVoice2-0.5B': { speech: { voices: 'any', counted: 'bytes' } },
    'FunAudioLLM/SenseVoiceSmall': { transcription: { prompt: 'none', sources: sentFiles(1, 1, 'audio', 'video') } },
  },
  rhythm: { everyMs: 10_000, mostMs: 3_600_000, keptMs: 3_600_000 },
  connect: openaiMedia({
    list: 'images',
    image: ({ model, prompt, size, count }) => ({ json: { model, prompt, image_size: size, batch_size: count } }),
    edit: (request) => ({
      path: '/images/generations',
      json: { model: request.model, prompt: request.prompt, image: firstAsUrl(request) },
    }),
    voice: (model) => `${model}:alex`,
    charactersOf: (text) => Buffer.byteLength(text), // by which it is paid
    transcription: ({ model, sources: [file] }) => ({ model: model!, file }),
    jobs: jobPoll({
      video: {
        submit: asJson('/video/submit', ({ model, prompt, size, images: [first] }) => ({
          model,
          prompt,
          image_size: size,
          image: first,
        })),
        id: 'requestId',
        poll: '/video/status',
        pollBody: ({ id }) => ({ requestId: id }),
        outputs: 'results.videos.*.url',
        error: ['reason'],
        failures: [[/sensitive|prohibited|policy/i, 'rejected']],
      },
    }),
  }),
  check: creditsAt('/user/info', 'data.totalBalance'),
});
