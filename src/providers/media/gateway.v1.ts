import { secret } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { gatewayMedia } from './_gateway-media.ts';
import { creditsAt } from './_key-checks.ts';

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'];
const image = { ratios, count: 4 };
const edit = { ...image, sources: { kinds: ['image'], min: 1, max: 8 } } as const;
const video = {
  ratios: ['16:9', '9:16', '1:1'],
  seconds: { from: 1, to: 20 },
  secondsNeeded: true,
  sources: { kinds: ['image'], min: 0, max: 1 },
} as const;
const transcription = {
  prompt: 'none',
  sources: { kinds: ['audio', 'video'], min: 1, max: 1 },
} as const;

/** https://vercel.com/docs/ai-gateway */
export default media({
  id: 'gateway',
  version: 'v1',
  status: 'active',
  title: 'Vercel AI Gateway',
  description: 'Pictures, videos, speech and transcriptions of many makers through Vercel.',
  website: 'https://vercel.com/ai-gateway',
  authType: 'api_key',
  credentials: { apiKey: secret('API key', { help: 'Vercel, AI Gateway, API keys' }) },
  api: 'https://ai-gateway.vercel.sh',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  hub: true,
  models: [
    { id: 'google/gemini-3.1-flash-image', operations: { image, edit } },
    { id: 'openai/gpt-image-2', operations: { image, edit } },
    { id: 'recraft/recraft-v4', operations: { image } },
    { id: 'alibaba/wan-v2.6-t2v', operations: { video } },
    { id: 'openai/gpt-4o-mini-tts', operations: { speech: { promptLength: 4_096, voices: 'any' } } },
    { id: 'openai/whisper-1', operations: { transcription } },
  ],
  anyModel: {
    id: /^[\w.-]+\/[\w.:-]+$/,
    operations: { image, edit, video, speech: { voices: 'any' }, transcription },
  },
  rhythm: { everyMs: 5_000, mostMs: 1_800_000 },
  connect: gatewayMedia,
  check: creditsAt('/v1/credits', 'balance'), // the list of models answers anybody
});
