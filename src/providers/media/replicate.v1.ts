import { accountAt, bearerKey } from './_account.ts';
import { alike, fetchedFiles, media, type Takes } from './_contract.ts';
import { valuesAt } from './_job-answers.ts';
import { inList } from './_job-find.ts';
import { jobPoll } from './_job-poll.ts';
import type { JobRequest } from './_job.ts';

/** The input for pictures of the library, where a model does not call it `image`. */
const PICTURES: Readonly<Record<string, string>> = {
  'black-forest-labs/flux-2-pro': 'input_images',
  'google/nano-banana-pro': 'image_input',
};

/** Inputs differ by model; these are the names that most have. */
const inputOf = ({ model, prompt, ratio, size, seconds, count, voice, images, videos, sounds }: JobRequest) => {
  const list = PICTURES[model!];
  return {
    prompt,
    aspect_ratio: ratio,
    size,
    duration: seconds,
    num_outputs: count,
    voice,
    ...(images.length > 0 && (list ? { [list]: images } : { image: images[0] })),
    video: videos[0],
    audio: sounds[0],
  };
};

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'];
const edit: Takes = { ratios, sources: fetchedFiles(1, 8, 'image') };
const video: Takes = {
  ratios: ['16:9', '9:16', '1:1'],
  seconds: { from: 3, to: 15 },
  secondsNeeded: true,
  sources: fetchedFiles(0, 1, 'image'),
};

/** Clocks of the provider and of this machine differ by less. */
const CLOCKS_MS = 60_000;

/** https://replicate.com/docs/reference/http */
export default media({
  id: 'replicate',
  version: 'v1',
  title: 'Replicate',
  description: 'Hub of official and community models for pictures, videos, speech and music.',
  website: 'https://replicate.com',
  status: 'active',
  ...bearerKey('replicate.com/account/api-tokens; it begins with r8_', { label: 'API token' }),
  api: 'https://api.replicate.com/v1',
  hub: true,
  models: {
    ...alike({ image: { ratios }, edit }, 'black-forest-labs/flux-2-pro', 'google/nano-banana-pro'),
    'bytedance/seedance-2.0': { video },
    'minimax/music-2.6': { music: {} },
  },
  anyModel: {
    id: /^[\w.-]+\/[\w.-]+$/,
    operations: {
      image: { ratios, count: 4 },
      edit,
      video,
      speech: { voices: 'any' },
      music: {},
      avatar: { prompt: 'optional', sources: fetchedFiles(1, 2, 'image', 'audio') },
      upscale: { prompt: 'none', sources: fetchedFiles(1, 1, 'image', 'video') },
    },
  },
  rhythm: { everyMs: 3_000, mostMs: 3_600_000, keptMs: 3_600_000 },
  connect: jobPoll({
    prediction: {
      submit: (request) => ({ path: `/models/${request.model}/predictions`, json: { input: inputOf(request) } }),
      poll: '/predictions/{id}',
      outputs: ['output', 'output.*'],
      error: ['error'],
      failures: [[/nsfw|sensitive|\bE005\b/i, 'rejected']],
      callback: { in: 'json', name: 'webhook', json: { webhook_events_filter: ['completed'] } },
      cancel: { method: 'post', path: '/predictions/{id}/cancel' },
      find: inList('/predictions', 'results', (entry, { model, prompt }, since) => {
        const [made] = valuesAt(entry, 'created_at');
        return (
          valuesAt(entry, 'model')[0] === model &&
          valuesAt(entry, 'input.prompt')[0] === prompt &&
          Date.parse(String(made)) >= since.getTime() - CLOCKS_MS
        );
      }),
    },
  }),
  check: accountAt('/account', 'username'),
});
