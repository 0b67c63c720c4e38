import { z } from 'zod';
import { asDataUrl } from '../kit/protocols/json-body.ts';
import { bearerKey, shaped } from './_account.ts';
import type { MediaCalls } from './_calls.ts';
import { alike, fetchedFiles, media, type MediaLine, ONE_SOUND, sentFiles } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import { openaiMedia } from './_openai-media.ts';

const cost = { at: ['usage', 'cost'], micros: 1_000_000 };
const ratios = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];
const image = { ratios, count: 4 };
const edit = { ...image, sources: sentFiles(1, 8, 'image') } as const;
const video = {
  ratios: ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'],
  seconds: { from: 1, to: 20 },
  secondsNeeded: true,
  sources: fetchedFiles(0, 1, 'image'),
} as const;

const jobs = jobPoll({
  video: {
    submit: asJson('/videos', ({ model, prompt, ratio, seconds, images: [url] }) => {
      const frame = url && { type: 'image_url', image_url: { url }, frame_type: 'first_frame' };
      return { model, prompt, aspect_ratio: ratio, duration: seconds, ...(frame && { frame_images: [frame] }) };
    }),
    poll: '/videos/{id}',
    outputs: 'unsigned_urls',
    error: ['error'],
    failures: [[/policy|moderat|safety|sensitive/i, 'rejected']],
    callback: { in: 'json', name: 'callback_url' },
    cost: { at: 'usage.cost', micros: 1_000_000 },
  },
});
/** The addresses of the answer want the key wherever they are: videos are fetched from the provider itself. */
function fromItself(calls: MediaCalls, { base }: MediaLine): MediaCalls {
  return {
    ...calls,
    async poll(handle) {
      const polled = await calls.poll!(handle);
      if (polled.state !== 'done') return polled;
      const place = `${base}/videos/${encodeURIComponent(String(handle['id']))}/content`;
      const outputs = polled.outputs.map((_, n) => ({
        kind: 'video' as const,
        url: `${place}?index=${n}`,
        withKey: true as const,
      }));
      return { ...polled, outputs };
    },
  };
}

/** https://openrouter.ai/docs/api-reference */
export default media({
  id: 'openrouter',
  version: 'v1',
  status: 'active',
  title: 'OpenRouter',
  description: 'Pictures, videos, speech and transcriptions of many makers with one key.',
  website: 'https://openrouter.ai',
  ...bearerKey('openrouter.ai/settings/keys'),
  api: 'https://openrouter.ai/api/v1',
  errorOf: shaped(
    { status: z.literal(403), error: z.object({ metadata: z.object({ reasons: z.array(z.unknown()) }) }) },
    'rejected',
  ),
  hub: true,
  models: {
    'google/gemini-3.1-flash-image': { image, edit },
    'recraft/recraft-v4': { image },
    ...alike({ video }, 'alibaba/wan-2.7', 'x-ai/grok-imagine-video'),
    'openai/gpt-4o-mini-tts': { speech: { voices: 'any' } },
    'openai/whisper-1': { transcription: ONE_SOUND },
  },
  anyModel: {
    id: /^[\w.-]+\/[\w.:-]+$/,
    operations: { image, edit, video, speech: { voices: 'any', anyOf: [['voice']] }, transcription: ONE_SOUND },
  },
  connect: openaiMedia({
    cost,
    image: ({ model, prompt, ratio, count }) => ({
      path: '/images',
      json: { model, prompt, n: count, aspect_ratio: ratio },
    }),
    edit: ({ model, prompt, ratio, count, sources }) => ({
      path: '/images',
      json: {
        model,
        prompt,
        n: count,
        aspect_ratio: ratio,
        input_references: sources.map((file) => ({ type: 'image_url', image_url: { url: asDataUrl(file) } })),
      },
    }),
    jobs: (line) => fromItself(jobs(line), line),
  }),
  async check({ http }) {
    // the list of models answers anybody
    const { data } = await http.get('/key', z.object({ data: z.object({ limit_remaining: z.number().nullish() }) }));
    const left = data.limit_remaining;
    return `The key is accepted${typeof left === 'number' ? `; $${left.toFixed(2)} of its limit are left` : ''}`;
  },
});
