import { bearerKey, creditsAt } from './_account.ts';
import { alike, media, sentFiles } from './_contract.ts';
import { gatewayMedia } from './_gateway-media.ts';

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'];
const image = { ratios, count: 4 };
const edit = { ...image, sources: sentFiles(1, 8, 'image') } as const;
const video = {
  ratios: ['16:9', '9:16', '1:1'],
  seconds: { from: 1, to: 20 },
  secondsNeeded: true,
  sources: sentFiles(0, 1, 'image'),
} as const;
const transcription = {
  prompt: 'none',
  sources: sentFiles(1, 1, 'audio', 'video'),
} as const;

/** https://vercel.com/docs/ai-gateway */
export default media({
  id: 'gateway',
  version: 'v1',
  status: 'active',
  title: 'Vercel AI Gateway',
  description: 'Pictures, videos, speech and transcriptions of many makers through Vercel.',
  website: 'https://vercel.com/ai-gateway',
  ...bearerKey('Vercel, AI Gateway, API keys'),
  api: 'https://ai-gateway.vercel.sh',
  hub: true,
  models: {
    ...alike({ image, edit }, 'google/gemini-3.1-flash-image', 'openai/gpt-image-2'),
    'recraft/recraft-v4': { image },
    'alibaba/wan-v2.6-t2v': { video },
    'openai/gpt-4o-mini-tts': { speech: { promptLength: 4_096, voices: 'any' } },
    'openai/whisper-1': { transcription },
  },
  anyModel: {
    id: /^[\w.-]+\/[\w.:-]+$/,
    operations: { image, edit, video, speech: { voices: 'any' }, transcription },
  },
  rhythm: { everyMs: 5_000, mostMs: 1_800_000 },
  connect: gatewayMedia,
  check: creditsAt('/v1/credits', 'balance'), // the list of models answers anybody
});
