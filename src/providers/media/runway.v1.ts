import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { fetchedFiles, media, type MediaRequest, type Takes } from './_contract.ts';
import type { Job } from './_job.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { creditsAt } from './_key-checks.ts';

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

const task = (bodyOf: (request: MediaRequest) => { path: string; json: object }): Job => ({
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
const picture = task(({ model, ratio = '16:9', sources }) => {
  const referenceImages = publicUrls(sources).image.map((uri) => ({ uri }));
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
  errorOf: z
    .object({ status: z.literal(400), error: z.string().regex(/credits|spend/i) })
    .transform(() => 'exhausted' as const),
  models: [
    {
      id: 'gen4.5',
      operations: { video: { ...video, seconds: { from: 2, to: 10 }, sources: fetchedFiles(0, 1, 'image') } },
    },
    {
      id: 'gen4_turbo',
      operations: {
        video: {
          ...video,
          ratios: Object.keys(VIDEO_RATIOS),
          prompt: 'optional',
          seconds: { from: 2, to: 10 },
          sources: fetchedFiles(1, 1, 'image'),
        },
      },
    },
    { id: 'veo3.1', operations: { video: { ...video, seconds: [4, 6, 8], sources: fetchedFiles(0, 1, 'image') } } },
    { id: 'gen4_image', operations: { image, edit } },
    {
      id: 'gemini_image3_pro',
      operations: { image: { ...image, promptLength: 5_500 }, edit: { ...edit, promptLength: 5_500 } },
    },
    { id: 'aleph2', operations: { edit: { promptLength: 1_000, sources: fetchedFiles(1, 1, 'video') } } },
    {
      id: 'act_two',
      operations: {
        avatar: {
          prompt: 'none',
          ratios: Object.keys(VIDEO_RATIOS),
          sources: fetchedFiles(2, 2, 'image', 'video'),
          anyOf: [['image'], ['video']],
        },
      },
    },
    {
      id: 'eleven_multilingual_v2',
      operations: { speech: { promptLength: 1_000, voices: 'any', anyOf: [['voice']] } },
    },
  ],
  rhythm: { everyMs: 5_000, mostMs: 3_600_000, keptMs: 86_400_000 },
  connect: jobPoll({
    choose: ({ operation, model }) => (model === 'aleph2' ? 'restyle' : operation === 'edit' ? 'image' : operation),
    jobs: {
      video: task(({ ratio = '16:9', seconds, sources }) => {
        const [promptImage] = publicUrls(sources).image;
        const json = { ratio: VIDEO_RATIOS[ratio], duration: seconds, promptImage };
        return { path: promptImage === undefined ? '/v1/text_to_video' : '/v1/image_to_video', json };
      }),
      image: { ...picture, kind: 'image' },
      restyle: {
        ...task(({ sources }) => ({ path: '/v1/video_to_video', json: { videoUri: publicUrls(sources).video[0] } })),
        kind: 'video',
      },
      avatar: task(({ ratio = '16:9', sources }) => {
        const {
          image: [face],
          video: [performance],
        } = publicUrls(sources);
        const json = {
          character: { type: 'image', uri: face },
          reference: { type: 'video', uri: performance },
          ratio: VIDEO_RATIOS[ratio],
        };
        return { path: '/v1/character_performance', json };
      }),
      speech: task(({ voice }) => ({
        path: '/v1/text_to_speech',
        json: { voice: { type: 'runway-preset', presetId: voice } },
      })),
    },
  }),
  check: creditsAt('/v1/organization', 'creditBalance'),
});
