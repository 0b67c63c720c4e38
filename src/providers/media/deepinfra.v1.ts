import { z } from 'zod';
import { accountAt, bearerKey } from './_account.ts';
import { media, ONE_SOUND, sentFiles } from './_contract.ts';
import { openaiMedia } from './_openai-media.ts';
import { encoded, operations, remote, withCost } from './_operations.ts';

const sizes = ['1024x1024', '1024x768', '768x1024', '1280x720', '720x1280'];
const picture = { sizes, count: 4 };
const COST = { at: ['inference_status', 'cost'], micros: 1_000_000 };
/** Videos are made while the call waits. */
const CLIP_MS = 900_000;
const Clip = z
  .looseObject({ video_url: z.union([encoded('video', 'video/mp4'), remote('video')]) })
  .transform((answer) => withCost(answer, COST, { outputs: [answer.video_url], usage: {} }));

/** https://docs.deepinfra.com; OpenAI's bodies, and its own at `/inference`. */
export default media({
  id: 'deepinfra',
  version: 'v1',
  status: 'active',
  title: 'DeepInfra',
  description: 'Open models for pictures, videos, speech and transcriptions.',
  website: 'https://deepinfra.com',
  ...bearerKey('deepinfra.com/dash/api_keys'),
  api: 'https://api.deepinfra.com/v1',
  hub: true,
  models: {
    'black-forest-labs/FLUX-1-schnell': { image: picture },
    'black-forest-labs/FLUX-2-dev': { image: picture, edit: { ...picture, sources: sentFiles(1, 4, 'image') } },
    'Wan-AI/Wan2.1-T2V-14B': { video: {} },
    'hexgrad/Kokoro-82M': { speech: { voices: 'any' } },
    'openai/whisper-large-v3-turbo': { transcription: ONE_SOUND },
  },
  connect: openaiMedia({
    under: '/openai',
    cost: COST,
    edit: ({ model, prompt, size, count, sources }) => ({
      multipart: { model: model!, prompt, n: count?.toString(), size, image: sources },
    }),
    voice: 'af_heart',
    jobs: (line) =>
      operations({
        video: ({ model, prompt }) =>
          line.large(`/inference/${model}`, Clip, { json: { prompt }, timeoutMs: CLIP_MS, creates: true }),
      }),
  }),
  check: accountAt('/me', 'uid'),
});
