import { z } from 'zod';
import { bearerKey, codeAt, regionField } from './_account.ts';
import { alike, fetchedFiles, media, type Takes } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';

/** Codes of `base_resp`; 0 is a success, and further ones are faults of the request. */
const CODES = {
  unavailable: [1000, 1001, 1013],
  rate_limited: [1002],
  reauthorize: [1004, 2049],
  exhausted: [1008, 2056],
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
  api: 'https://api.minimax.io',
  regions: { china: 'https://api.minimaxi.com' },
  ...bearerKey('platform.minimax.io > API keys', {
    fields: { region: regionField({ global: 'Global', china: 'China' }) },
  }),
  errorInside: codeAt('base_resp.status_code', CODES, 0),
  models: {
    'MiniMax-Hailuo-2.3': { video: hailuo },
    'MiniMax-Hailuo-2.3-Fast': { video: { ...hailuo, sources: fetchedFiles(1, 1, 'image') } },
    ...alike({ video: h3 }, 'MiniMax-H3', 'MiniMax-H3-Max'),
    'image-01': { image: { ratios, count: 9, promptLength: 1_500 } },
    'speech-2.8-hd': { speech: { promptLength: 10_000, voices: 'any', counted: 'han twice', anyOf: [['voice']] } },
    'music-2.6': { music: { promptLength: 2_000, options: { lyrics: { label: 'Lyrics' } } } },
  },
  rhythm: { everyMs: 10_000, mostMs: 3_600_000, keptMs: 86_400_000 },
  connect: jobPoll(
    {
      video: {
        submit: asJson('/v1/video_generation', ({ model, prompt, size, seconds, images }) => ({
          model,
          prompt,
          duration: seconds,
          resolution: size,
          first_frame_image: images[0],
          last_frame_image: images[1],
        })),
        id: 'task_id',
        poll: '/v1/query/video_generation?task_id={id}',
        result: { path: '/v1/files/retrieve?file_id={file}', keeps: { file: 'file_id' } },
        outputs: 'file.download_url',
        error: ['base_resp.status_msg', 'error_message'],
        callback: { in: 'json', name: 'callback_url' },
      },
      h3: {
        submit: asJson('/v2/video_generation', ({ model, prompt, ratio, seconds, images }) => {
          const frames = images.map((url, n) => ({ type: 'image_url', image_url: { url }, role: FRAMES[n] }));
          const content = [{ type: 'text', text: prompt }, ...frames];
          return { model, content, resolution: '2K', duration: seconds, ratio };
        }),
        id: 'task_id',
        poll: '/v2/query/video_generation/{id}',
        status: 'task.status',
        outputs: 'task.content.url',
        error: ['task.error.code', 'task.error.message'],
        failures: [[/\b102[67]\b|sensitive/i, 'rejected']],
        usage: { seconds: { at: 'task.usage.total_seconds' } },
      },
      image: {
        submit: asJson('/v1/image_generation', ({ model, prompt, ratio, count }) => ({
          model,
          prompt,
          aspect_ratio: ratio,
          n: count,
          response_format: 'url',
        })),
        outputs: 'data.image_urls',
      },
      speech: {
        submit: asJson('/v1/t2a_v2', ({ model, prompt, voice }) => ({
          model,
          text: prompt,
          voice_setting: { voice_id: voice },
          output_format: 'url',
        })),
        outputs: 'data.audio',
        usage: {
          characters: { at: 'extra_info.usage_characters' },
          seconds: { at: 'extra_info.audio_length', per: 1_000 },
        },
      },
      music: {
        submit: asJson('/v1/music_generation', ({ model, prompt, options }) => ({
          model,
          prompt,
          ...(options?.['lyrics'] ? { lyrics: options['lyrics'] } : { is_instrumental: true }),
          output_format: 'url',
        })),
        outputs: 'data.audio',
        usage: { seconds: { at: 'extra_info.music_duration', per: 1_000 } },
      },
    },
    {
      choose: ({ operation, model }) => (operation === 'video' && model!.startsWith('MiniMax-H3') ? 'h3' : operation),

      tools: {
        voices: {
          path: '/v1/get_voice',
          json: { voice_type: 'system' },
          list: 'system_voice',
          id: 'voice_id',
          label: 'voice_name',
        },
      },
    },
  ),
  async check({ http }) {
    await http.post('/v1/get_voice', z.object({ base_resp: z.object({ status_code: z.literal(0) }) }), {
      json: { voice_type: 'system' },
    });
    return 'The key is accepted';
  },
});
