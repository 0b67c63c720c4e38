import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { asDataUrl } from '../kit/protocols/json-body.ts';
import { media, type MediaCalls, type MediaLine } from './_contract.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { ONE_SOUND, pictures, speech, transcription, transcriptForm } from './_openai-media.ts';
import { operations } from './_operations.ts';

const cost = { at: ['usage', 'cost'], micros: 1_000_000 };
const ratios = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];
const image = { ratios, count: 4 };
const edit = { ...image, sources: { kinds: ['image'], min: 1, max: 8 } } as const;
const video = {
  ratios: ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'],
  seconds: { from: 1, to: 20 },
  secondsNeeded: true,
  sources: { kinds: ['image'], min: 0, max: 1, fetched: true },
} as const;

const jobs = jobPoll({
  jobs: {
    video: {
      submit: ({ model, prompt, ratio, seconds, sources }) => {
        const [url] = publicUrls(sources).image;
        const frame = url && { type: 'image_url', image_url: { url }, frame_type: 'first_frame' };
        return {
          path: '/videos',
          json: { model, prompt, aspect_ratio: ratio, duration: seconds, ...(frame && { frame_images: [frame] }) },
        };
      },
      poll: '/videos/{id}',
      outputs: 'unsigned_urls',
      error: ['error'],
      failures: [[/policy|moderat|safety|sensitive/i, 'rejected']],
      callback: { in: 'json', name: 'callback_url' },
      cost: { at: 'usage.cost', micros: 1_000_000 },
    },
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
  authType: 'api_key',
  credentials: { apiKey: secret('API key', { help: 'openrouter.ai/settings/keys' }) },
  api: 'https://openrouter.ai/api/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: z
    .object({ status: z.literal(403), error: z.object({ metadata: z.object({ reasons: z.array(z.unknown()) }) }) })
    .transform(() => 'rejected' as const),
  hub: true,
  models: [
    { id: 'google/gemini-3.1-flash-image', operations: { image, edit } },
    { id: 'recraft/recraft-v4', operations: { image } },
    { id: 'alibaba/wan-2.7', operations: { video } },
    { id: 'x-ai/grok-imagine-video', operations: { video } },
    { id: 'openai/gpt-4o-mini-tts', operations: { speech: { voices: 'any' } } },
    { id: 'openai/whisper-1', operations: { transcription: ONE_SOUND } },
  ],
  anyModel: {
    id: /^[\w.-]+\/[\w.:-]+$/,
    operations: { image, edit, video, speech: { voices: 'any', anyOf: [['voice']] }, transcription: ONE_SOUND },
  },
  connect: (line) =>
    operations(
      {
        image: ({ model, prompt, ratio, count }) =>
          pictures(line, '/images', { json: { model, prompt, n: count, aspect_ratio: ratio } }, { cost }),
        edit: ({ model, prompt, ratio, count, sources }) =>
          pictures(
            line,
            '/images',
            {
              json: {
                model,
                prompt,
                n: count,
                aspect_ratio: ratio,
                input_references: sources.map((file) => ({ type: 'image_url', image_url: { url: asDataUrl(file) } })),
              },
            },
            { cost },
          ),
        speech: ({ model, prompt, voice = 'alloy' }) =>
          speech(line, '/audio/speech', { model, input: prompt, voice, response_format: 'mp3' }, prompt),
        transcription: (request) =>
          transcription(line, '/audio/transcriptions', { multipart: transcriptForm(request), cost }, request),
      },
      fromItself(jobs(line), line),
    ),
  async check({ http }) {
    // the list of models answers anybody
    const { data } = await http.get('/key', z.object({ data: z.object({ limit_remaining: z.number().nullish() }) }));
    const left = data.limit_remaining;
    return `The key is accepted${typeof left === 'number' ? `; $${left.toFixed(2)} of its limit are left` : ''}`;
  },
});
