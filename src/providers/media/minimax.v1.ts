import { z } from 'zod';
import type { Manifest } from '../kit/declare/adapter.ts';
import { secret } from '../kit/declare/fields.ts';
import { fetchedFiles, media, type Takes } from './_contract.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { regionField } from './_region.ts';

/** Codes of `base_resp`; 0 is a success, and further ones are faults of the request. */
const CODES: NonNullable<Manifest['errors']> = {
  1000: 'unavailable',
  1001: 'unavailable',
  1002: 'rate_limited',
  1004: 'reauthorize',
  1008: 'exhausted',
  1013: 'unavailable',
  2049: 'reauthorize',
  2056: 'exhausted',
};
const ratios = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'];
const hailuo: Takes = {
  promptLength: 2_000,
  sizes: ['768P', '1080P'],
  seconds: [6, 10],
  secondsNeeded: true,
  sources: fetchedFiles(0, 2, 'image'),
};
const h3: Takes = { ratios, seconds: { from: 5, to: 15 }, secondsNeeded: true, sources: fetchedFiles(0, 2, 'image') };
const FRAMES = ['first_frame', 'last_frame'];

/** https://platform.minimax.io/docs */
export default media({
  id: 'minimax',
  version: 'v1',
  title: 'MiniMax',
  description: 'Hailuo and H3 videos, pictures, speech and music.',
  website: 'https://www.minimax.io',
  status: 'active',
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key', { help: 'platform.minimax.io > API keys' }),
    region: regionField({ global: 'Global', china: 'China' }),
  },
  api: 'https://api.minimax.io',
  regions: { china: 'https://api.minimaxi.com' },
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorInside: z
    .object({ base_resp: z.object({ status_code: z.int().refine((code) => code !== 0) }) })
    .transform(({ base_resp }) => CODES[base_resp.status_code] ?? 'rejected'),
  models: [
    { id: 'MiniMax-Hailuo-2.3', operations: { video: hailuo } },
    { id: 'MiniMax-Hailuo-2.3-Fast', operations: { video: { ...hailuo, sources: fetchedFiles(1, 1, 'image') } } },
    { id: 'MiniMax-H3', operations: { video: h3 } },
    { id: 'MiniMax-H3-Max', operations: { video: h3 } },
    { id: 'image-01', operations: { image: { ratios, count: 9, promptLength: 1_500 } } },
    { id: 'speech-2.8-hd', operations: { speech: { promptLength: 10_000, voices: 'any', anyOf: [['voice']] } } },
    { id: 'music-2.6', operations: { music: { promptLength: 2_000, options: { lyrics: { label: 'Lyrics' } } } } },
  ],
  rhythm: { everyMs: 10_000, mostMs: 3_600_000, keptMs: 86_400_000 },
  connect: jobPoll({
    choose: ({ operation, model }) => (operation === 'video' && model!.startsWith('MiniMax-H3') ? 'h3' : operation),
    jobs: {
      video: {
        submit({ model, prompt, size, seconds, sources }) {
          const [first_frame_image, last_frame_image] = publicUrls(sources).image;
          const json = { model, prompt, duration: seconds, resolution: size, first_frame_image, last_frame_image };
          return { path: '/v1/video_generation', json };
        },
        id: 'task_id',
        poll: '/v1/query/video_generation?task_id={id}',
        result: { path: '/v1/files/retrieve?file_id={file}', keeps: { file: 'file_id' } },
        outputs: 'file.download_url',
        error: ['base_resp.status_msg', 'error_message'],
        callback: { in: 'json', name: 'callback_url' },
      },
      h3: {
        submit({ model, prompt, ratio, seconds, sources }) {
          const frames = publicUrls(sources).image.map((url, n) => ({
            type: 'image_url',
            image_url: { url },
            role: FRAMES[n],
          }));
          const content = [{ type: 'text', text: prompt }, ...frames];
          return { path: '/v2/video_generation', json: { model, content, resolution: '2K', duration: seconds, ratio } };
        },
        id: 'task_id',
        poll: '/v2/query/video_generation/{id}',
        status: 'task.status',
        outputs: 'task.content.url',
        error: ['task.error.code', 'task.error.message'],
        failures: [[/\b102[67]\b|sensitive/i, 'rejected']],
        usage: { seconds: { at: 'task.usage.total_seconds' } },
      },
      image: {
        timeoutMs: 180_000,
        submit: ({ model, prompt, ratio, count }) => ({
          path: '/v1/image_generation',
          json: { model, prompt, aspect_ratio: ratio, n: count, response_format: 'url' },
        }),
        outputs: 'data.image_urls',
      },
      speech: {
        timeoutMs: 120_000,
        submit: ({ model, prompt, voice }) => ({
          path: '/v1/t2a_v2',
          json: { model, text: prompt, voice_setting: { voice_id: voice }, output_format: 'url' },
        }),
        outputs: 'data.audio',
        usage: {
          characters: { at: 'extra_info.usage_characters' },
          seconds: { at: 'extra_info.audio_length', per: 1_000 },
        },
      },
      music: {
        timeoutMs: 180_000,
        submit: ({ model, prompt, options }) => ({
          path: '/v1/music_generation',
          json: {
            model,
            prompt,
            ...(options?.['lyrics'] ? { lyrics: options['lyrics'] } : { is_instrumental: true }),
            output_format: 'url',
          },
        }),
        outputs: 'data.audio',
        usage: { seconds: { at: 'extra_info.music_duration', per: 1_000 } },
      },
    },
    tools: {
      voices: {
        path: '/v1/get_voice',
        json: { voice_type: 'system' },
        list: 'system_voice',
        id: 'voice_id',
        label: 'voice_name',
      },
    },
  }),
  async check({ http }) {
    await http.post('/v1/get_voice', z.object({ base_resp: z.object({ status_code: z.literal(0) }) }), {
      json: { voice_type: 'system' },
    });
    return 'The key is accepted';
  },
});
