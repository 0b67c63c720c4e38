import { z } from 'zod';
import { creditsAt, keyIn } from './_account.ts';
import type { MediaRequest } from './_calls.ts';
import { fetchedFiles, media } from './_contract.ts';
import { byName } from './_job-find.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import type { Job, JobRequest } from './_job.ts';

const FAILURES: NonNullable<Job['failures']> = [
  [/MODERATION_FAILED|INVALID_ARGUMENT|NOT_FOUND|FAILED_PRECONDITION/, 'rejected'],
  [/MISSING_CREDITS/, 'exhausted'],
  [/RESOURCE_EXHAUSTED/, 'rate_limited'],
  [/UNAUTHORIZED|PERMISSION_DENIED/, 'reauthorize'],
];
/** A model is named by its id or by its short name. */
const modelOf = ({ model }: MediaRequest) =>
  model === null ? {} : /^[0-9a-f-]{36}$/.test(model) ? { ai_model_id: model } : { model_slug: model };

const generation = (body: (request: JobRequest) => object): Job => ({
  submit: asJson('/generations', (request) => ({ generation_id: request.key, ...body(request) })),
  poll: '/generations/{id}/status',
  progress: ['progress', 1],
  outputs: ['download_url', 'url'],
  error: ['error.type', 'error.message', 'error_message'],
  failures: FAILURES,
  find: byName,
});
const videoOf = ({ prompt, ratio, size, seconds }: MediaRequest, scene = prompt) => ({
  text_prompt: scene,
  aspect_ratio: ratio,
  resolution: size,
  ...(seconds !== undefined && { duration_ms: seconds * 1_000 }),
});
const ratios = ['16:9', '9:16', '1:1'];
const sizes = ['540p', '720p', '1080p'];

/** https://www.hedra.com/docs */
export default media({
  id: 'hedra',
  version: 'v1',
  title: 'Hedra',
  description: 'Videos of characters and avatars, and pictures, videos and voices of partners.',
  website: 'https://www.hedra.com',
  status: 'active',
  setupNotes: 'Needs a paid plan of Hedra.',
  ...keyIn({ name: 'x-api-key' }, 'hedra.com/develop/api-keys'),
  api: 'https://api.hedra.com/web-app/public',
  errorOf: z
    .object({ error: z.object({ type: z.string() }) })
    .transform(({ error }) => FAILURES.find(([pattern]) => pattern.test(error.type))?.[1])
    .pipe(z.enum(['rejected', 'exhausted', 'rate_limited', 'reauthorize'])),
  hub: true,
  models: {
    '26f0fc66-152b-40ab-abed-76c43df99bc8': {
      avatar: {
        ratios,
        sizes,
        voices: 'any',
        sources: fetchedFiles(1, 1, 'image'),
        options: { scene: { label: 'Scene' } },
        anyOf: [['voice']],
      },
    },
    'ab372b84-432f-44f5-bacc-c2542465f712': {
      video: {
        ratios,
        sizes,
        seconds: { from: 1, to: 8 },
        secondsNeeded: true,
        sources: fetchedFiles(1, 1, 'image'),
      },
    },
  },
  anyModel: {
    id: /^[\w.-]+$/,
    operations: {
      video: { ratios, sizes, seconds: { from: 1, to: 60 }, secondsNeeded: true, sources: fetchedFiles(0, 1, 'image') },
      image: { ratios, sizes },
    },
  },
  actions: { image: { ratios, sizes }, speech: { voices: 'any', anyOf: [['voice']] } },
  rhythm: { everyMs: 5_000, mostMs: 3_600_000 },
  connect: jobPoll(
    {
      avatar: generation((request) => ({
        type: 'video',
        ...modelOf(request),
        start_keyframe_url: request.images[0],
        audio_generation: { type: 'text_to_speech', voice_id: request.voice, text: request.prompt },
        generated_video_inputs: videoOf(request, request.options?.['scene']),
      })),
      video: generation((request) => ({
        type: 'video',
        ...modelOf(request),
        start_keyframe_url: request.images[0],
        generated_video_inputs: videoOf(request),
      })),
      image: generation((request) => ({
        type: 'image',
        ...modelOf(request),
        text_prompt: request.prompt,
        aspect_ratio: request.ratio,
        resolution: request.size,
      })),
      speech: generation(({ prompt, voice }) => ({ type: 'text_to_speech', voice_id: voice, text: prompt })),
    },
    { tools: { voices: { path: '/voices', list: '', id: 'id', label: 'name' } } },
  ),
  check: creditsAt('/billing/credits', 'remaining'),
});
