import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { creditsAt, shaped } from './_account.ts';
import { fetchedFiles, media, type Takes } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import type { Job, JobRequest } from './_job.ts';

/** Ratios by the size in pixels that stands for them, of videos and of pictures. */
const VIDEO_RATIOS: Readonly<Record<string, string>> = {
  '16:9': '1280:720',
  '9:16': '720:1280',
  '1:1': '960:960',
  '4:3': '1104:832',
  '3:4': '832:1104',
  '21:9': '1584:672',
};
const PICTURE_RATIOS: Readonly<Record<string, string>> = {
  '16:9': '1920:1080',
  '9:16': '1080:1920',
  '1:1': '1024:1024',
  '4:3': '1440:1080',
  '3:4': '1080:1440',
  '21:9': '2112:912',
};
/** Models that take other pixels for the same ratios. */
const OWN_RATIOS: Readonly<Record<string, typeof PICTURE_RATIOS>> = {
  gemini_image3_pro: {
    '16:9': '1344:768',
    '9:16': '768:1344',
    '1:1': '1024:1024',
    '4:3': '1184:864',
    '3:4': '864:1184',
    '21:9': '1536:672',
  },
};
const video = { ratios: ['16:9', '9:16'], promptLength: 1_000, secondsNeeded: true } satisfies Takes;
const image: Takes = { ratios: Object.keys(PICTURE_RATIOS), promptLength: 1_000 };
const edit: Takes = { ...image, sources: fetchedFiles(1, 3, 'image') };

const task = (bodyOf: (request: JobRequest) => { path: string; json: object }): Job => ({
  submit: (request) => {
    const { path, json } = bodyOf(request);
    return { path, json: { model: request.model, promptText: request.prompt, ...json } };
  },
  poll: '/v1/tasks/{id}',
  states: { THROTTLED: 'queued' },
  progress: ['progress', 1],
  outputs: 'output',
  error: ['failureCode', 'failure'],
  failures: [[/SAFETY|ASSET\.INVALID|INPUT_PREPROCESSING/, 'rejected']],
  cancel: { method: 'delete', path: '/v1/tasks/{id}' },
});
const picture = task(({ model, ratio = '16:9', images }) => {
  const referenceImages = images.map((uri) => ({ uri }));
  const pixels = (OWN_RATIOS[model!] ?? PICTURE_RATIOS)[ratio];
  const json = { ratio: pixels, ...(referenceImages.length > 0 && { referenceImages }) };
  return { path: '/v1/text_to_image', json };
});

/** https://docs.dev.runwayml.com */
export default media({
  id: 'runway',
  version: 'v1',
  title: 'Runway',
  description: 'Gen-4.5 videos, pictures, performances and speech.',
  website: 'https://runwayml.com',
  status: 'active',
  authType: 'api_key',
  credentials: { apiKey: secret('API secret', { help: 'dev.runwayml.com > API keys; it begins with key_' }) },
  api: 'https://api.dev.runwayml.com',
  auth: [
    { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
    { in: 'header', name: 'x-runway-version', text: '2024-11-06' },
  ],
  errorOf: shaped({ status: z.literal(400), error: z.string().regex(/credits|spend/i) }, 'exhausted'),
  models: {
    'gen4.5': { video: { ...video, seconds: { from: 2, to: 10 }, sources: fetchedFiles(0, 1, 'image') } },
    gen4_turbo: {
      video: {
        ...video,
        ratios: Object.keys(VIDEO_RATIOS),
        prompt: 'optional',
        seconds: { from: 2, to: 10 },
        sources: fetchedFiles(1, 1, 'image'),
      },
    },
    'veo3.1': { video: { ...video, seconds: [4, 6, 8], sources: fetchedFiles(0, 1, 'image') } },
    gen4_image: { image, edit },
    gemini_image3_pro: { image: { ...image, promptLength: 5_500 }, edit: { ...edit, promptLength: 5_500 } },
    aleph2: { edit: { promptLength: 1_000, sources: fetchedFiles(1, 1, 'video') } },
    act_two: {
      avatar: {
        prompt: 'none',
        ratios: Object.keys(VIDEO_RATIOS),
        sources: fetchedFiles(2, 2, 'image', 'video'),
        anyOf: [['image'], ['video']],
      },
    },
    eleven_multilingual_v2: { speech: { promptLength: 1_000, voices: 'any', anyOf: [['voice']] } },
  },
  rhythm: { everyMs: 5_000, mostMs: 3_600_000, keptMs: 86_400_000 },
  connect: jobPoll(
    {
      video: task(({ ratio = '16:9', seconds, images: [promptImage] }) => {
        const json = { ratio: VIDEO_RATIOS[ratio], duration: seconds, promptImage };
        return { path: promptImage === undefined ? '/v1/text_to_video' : '/v1/image_to_video', json };
      }),
      image: { ...picture, kind: 'image' },
      restyle: {
        ...task(({ videos: [videoUri] }) => ({ path: '/v1/video_to_video', json: { videoUri } })),
        kind: 'video',
      },
      avatar: task(({ ratio = '16:9', images: [face], videos: [performance] }) => ({
        path: '/v1/character_performance',
        json: {
          character: { type: 'image', uri: face },
          reference: { type: 'video', uri: performance },
          ratio: VIDEO_RATIOS[ratio],
        },
      })),
      speech: task(({ voice }) => ({
        path: '/v1/text_to_speech',
        json: { voice: { type: 'runway-preset', presetId: voice } },
      })),
    },
    { choose: ({ operation, model }) => (model === 'aleph2' ? 'restyle' : operation === 'edit' ? 'image' : operation) },
  ),
  check: creditsAt('/v1/organization', 'creditBalance'),
});
