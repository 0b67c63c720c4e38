import { z } from 'zod';
import { bearerKey } from './_account.ts';
import { fetchedFiles, media, type Takes } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import type { JobRequest, Submit } from './_job.ts';

/** The longest video that it makes of any model and size. */
const LONGEST_S = 20;
const sizes = ['1920x1080', '1080x1920', '2560x1440', '1440x2560', '3840x2160', '2160x3840'];
const video = { promptLength: 5_000, sizes, secondsNeeded: true, sources: fetchedFiles(0, 2, 'image') } satisfies Takes;

/** The first picture begins the video, a second one ends it. */
function submitOf({ model, prompt, size = '1920x1080', seconds, images: [first, last] }: JobRequest): Submit {
  const endpoint = first === undefined ? 'text-to-video' : 'image-to-video';
  const json = { model, prompt, resolution: size, duration: seconds, image_uri: first, last_frame_uri: last };
  return { path: `/v2/${endpoint}`, json, keeps: { endpoint } };
}
const job = {
  poll: '/v2/{endpoint}/{id}',
  outputs: 'result.video_url',
  error: ['error.type', 'error.message'],
  failures: [
    [/content_filtered|invalid_request/, 'rejected'],
    [/insufficient_funds/, 'exhausted'],
    [/rate_limit|concurrency_limit/, 'rate_limited'],
  ],
} as const;

/** https://docs.ltx.video, the second generation of its API */
export default media({
  id: 'ltx',
  version: 'v1',
  title: 'LTX',
  description: 'LTX-2 videos with sound from their maker, Lightricks.',
  website: 'https://ltx.io',
  status: 'active',
  ...bearerKey('console.ltx.video > API keys'),
  api: 'https://api.ltx.video',
  models: {
    'ltx-2-3-pro': {
      video: { ...video, seconds: [6, 8, 10] },
      avatar: {
        promptLength: 5_000,
        sizes: sizes.slice(0, 2),
        sources: fetchedFiles(1, 2, 'audio', 'image'),
        sourceSeconds: LONGEST_S,
        anyOf: [['audio']],
      },
      edit: {
        promptLength: 5_000,
        seconds: { from: 2, to: 20 },
        secondsNeeded: true,
        sources: fetchedFiles(1, 1, 'video'),
        paidBySource: true,
        options: { start: { label: 'Start of the new part in seconds', required: true, number: true } },
      },
    },
    'ltx-2-3-fast': { video: { ...video, seconds: [6, 8, 10, 12, 14, 16, 18, 20] } },
  },
  rhythm: { everyMs: 5_000, mostMs: 3_600_000, keptMs: 86_400_000 },
  connect: jobPoll({
    video: { ...job, submit: submitOf },
    avatar: {
      ...job,
      submit: ({ model, prompt, size, sounds: [audio_uri], images: [image_uri] }) => ({
        path: '/v2/audio-to-video',
        json: { model, prompt, resolution: size, audio_uri, image_uri },
        keeps: { endpoint: 'audio-to-video' },
      }),
    },
    edit: {
      ...job,
      kind: 'video',
      submit: ({ prompt, seconds, options, videos: [video_uri] }) => ({
        path: '/v2/retake',
        json: { video_uri, prompt, start_time: Number(options!['start']), duration: seconds },
        keeps: { endpoint: 'retake' },
      }),
    },
  }),
  async check({ http }) {
    await http.post('/v1/upload', z.object({ storage_uri: z.string() }));
    return 'The key is accepted';
  },
});
