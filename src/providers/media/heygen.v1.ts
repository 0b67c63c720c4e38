import { z } from 'zod';
import { accountAt, keyIn, shaped } from './_account.ts';
import { fetchedFiles, media } from './_contract.ts';
import { byRepeat } from './_job-find.ts';
import { asJson, jobPoll } from './_job-poll.ts';

const videoJob = {
  status: 'data.status',
  outputs: 'data.video_url',
  error: ['data.failure_code', 'data.failure_message'],
  failures: [
    [/moderation|policy|nsfw|prohibited/i, 'rejected'],
    [/credit|quota/i, 'exhausted'],
  ],
  usage: { seconds: { at: 'data.duration' } },
  callback: { in: 'json', name: 'callback_url' },
  once: true,
  find: byRepeat,
} as const;

/** https://developers.heygen.com, the third generation of its API */
export default media({
  id: 'heygen',
  version: 'v1',
  title: 'HeyGen',
  description: 'Videos of avatars, videos from a brief, and voices.',
  website: 'https://www.heygen.com',
  status: 'active',
  setupNotes: 'Needs a prepaid API wallet of HeyGen.',
  ...keyIn({ name: 'x-api-key' }, 'app.heygen.com > Settings > API'),
  api: 'https://api.heygen.com',
  errorOf: shaped({ error: z.object({ code: z.enum(['quota_exceeded', 'insufficient_credit']) }) }, 'exhausted'),
  actions: {
    avatar: {
      prompt: 'optional',
      promptLength: 5_000,
      voices: 'any',
      ratios: ['16:9', '9:16', '4:5', '5:4', '1:1'],
      sizes: ['720p', '1080p', '4k'],
      sources: fetchedFiles(0, 2, 'image', 'audio'),
      options: { avatar: { label: 'Avatar', tool: 'avatars' } },
      anyOf: [
        ['prompt', 'audio'],
        ['options.avatar', 'image'],
      ],
    },
    video: { promptLength: 10_000 },
    speech: { promptLength: 5_000, voices: 'any', languages: true, anyOf: [['voice']] },
  },
  rhythm: { everyMs: 10_000, mostMs: 7_200_000 },
  connect: jobPoll(
    {
      avatar: {
        ...videoJob,
        submit: asJson('/v3/videos', ({ prompt, voice, ratio, size, options, images: [url], sounds: [audio_url] }) => ({
          ...(options?.['avatar']
            ? { type: 'avatar', avatar_id: options['avatar'] }
            : { type: 'image', image: { type: 'url', url } }),
          ...(audio_url === undefined ? { script: prompt, voice_id: voice } : { audio_url }),
          aspect_ratio: ratio,
          resolution: size,
        })),
        id: 'data.video_id',
        poll: '/v3/videos/{id}',
      },
      /** The name of the video comes once its session has begun to make it. */
      video: {
        ...videoJob,
        submit: asJson('/v3/video-agents', ({ prompt }) => ({ prompt })),
        id: 'data.session_id',
        poll: '/v3/video-agents/{id}',
        states: { thinking: 'running', waiting_for_input: 'running', reviewing: 'running' },
        progress: ['data.progress', 100],
        result: { path: '/v3/videos/{video}', keeps: { video: 'data.video_id' } },
      },
      speech: {
        submit: asJson('/v3/voices/speech', ({ prompt, voice, language }) => ({
          text: prompt,
          voice_id: voice,
          language,
        })),
        outputs: 'data.audio_url',
        usage: { seconds: { at: 'data.duration' } },
      },
    },
    {
      tools: {
        avatars: { path: '/v3/avatars/looks', query: { limit: '50' }, list: 'data', id: 'id', label: 'name' },
        voices: { path: '/v3/voices', query: { limit: '100' }, list: 'data', id: 'voice_id', label: 'name' },
      },
    },
  ),
  check: accountAt('/v3/users/me', 'data.username'),
});
