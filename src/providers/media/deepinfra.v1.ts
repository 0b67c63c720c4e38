import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { accountAt } from './_key-checks.ts';
import { ONE_SOUND, pictures, speech, transcription, transcriptForm } from './_openai-media.ts';
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
  authType: 'api_key',
  credentials: { apiKey: secret('API key', { help: 'deepinfra.com/dash/api_keys' }) },
  api: 'https://api.deepinfra.com/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  hub: true,
  models: [
    { id: 'black-forest-labs/FLUX-1-schnell', operations: { image: picture } },
    {
      id: 'black-forest-labs/FLUX-2-dev',
      operations: { image: picture, edit: { ...picture, sources: { kinds: ['image'], min: 1, max: 4 } } },
    },
    { id: 'Wan-AI/Wan2.1-T2V-14B', operations: { video: {} } },
    { id: 'hexgrad/Kokoro-82M', operations: { speech: { voices: 'any' } } },
    { id: 'openai/whisper-large-v3-turbo', operations: { transcription: ONE_SOUND } },
  ],
  connect: (line) =>
    operations({
      image: ({ model, prompt, size, count }) =>
        pictures(line, '/openai/images/generations', { json: { model, prompt, n: count, size } }, { cost: COST }),
      edit: ({ model, prompt, size, count, sources }) =>
        pictures(
          line,
          '/openai/images/edits',
          { multipart: { model: model!, prompt, n: count?.toString(), size, image: sources } },
          { cost: COST },
        ),
      video: ({ model, prompt }) =>
        line.large(`/inference/${model}`, Clip, { json: { prompt }, timeoutMs: CLIP_MS, creates: true }),
      speech: ({ model, prompt, voice = 'af_heart' }) =>
        speech(line, '/openai/audio/speech', { model, input: prompt, voice, response_format: 'mp3' }, prompt),
      transcription: (request) =>
        transcription(line, '/openai/audio/transcriptions', { multipart: transcriptForm(request) }, request),
    }),
  check: accountAt('/me', 'uid'),
});
