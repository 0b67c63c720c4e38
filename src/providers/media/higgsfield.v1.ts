import { secret } from '../kit/declare/fields.ts';
import { nothingAt } from './_account.ts';
import { fetchedFiles, media, type Takes } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import { queueOfRequests } from './_queue.ts';

const ratios = ['1:1', '4:3', '3:4', '3:2', '2:3', '5:4', '4:5', '16:9', '9:16', '21:9'];
const video: Takes = { ratios: ['16:9', '9:16', '1:1'], seconds: { from: 1, to: 15 }, secondsNeeded: true };
const fromPicture: Takes = { sources: fetchedFiles(1, 2, 'image') };

/** https://docs.higgsfield.ai */
export default media({
  id: 'higgsfield',
  version: 'v1',
  title: 'Higgsfield',
  description: 'Hub of Soul pictures, DoP motion and videos of partners.',
  website: 'https://higgsfield.ai',
  status: 'active',
  authType: 'api_key',
  credentials: {
    apiKey: secret('Key ID', { help: 'cloud.higgsfield.ai > API keys' }),
    apiSecret: secret('Key secret'),
  },
  api: 'https://platform.higgsfield.ai',
  auth: { in: 'header', name: 'authorization', prefix: 'Key ', fields: ['apiKey', 'apiSecret'] },
  errors: { 403: 'exhausted' },
  hub: true,
  models: {
    'higgsfield-ai/soul/standard': { image: { ratios, sizes: ['2K', '4K'], count: 4 } },
    'flux-pro/kontext/max/text-to-image': { image: { ratios } },
    'higgsfield-ai/dop/turbo': { video: fromPicture },
    'veo3.1': { video: { ...video, seconds: [4, 6, 8] } },
    'minimax/hailuo-2.3/pro/text-to-video': { video: { prompt: 'required' } },
    'kling-video/v2.5-turbo/pro/image-to-video': { video: { ...fromPicture, seconds: [5, 10], secondsNeeded: true } },
  },
  anyModel: {
    id: /^(?!sora)[\w.-]+(\/[\w.-]+)*$/,
    operations: { image: { ratios, count: 4 }, video: { ...video, sources: fetchedFiles(0, 2, 'image') } },
  },
  rhythm: { everyMs: 3_000, mostMs: 1_800_000 },
  connect: jobPoll({
    request: queueOfRequests({
      submit: ({ operation, model, prompt, ratio, size, seconds, count, images: [first, last] }) => ({
        path: `/${model}`,
        json: {
          prompt,
          aspect_ratio: ratio,
          ...(operation === 'image' && { resolution: size, num_images: count }),
          duration: seconds,
          image_url: first,
          end_image_url: last,
        },
      }),
      callback: { in: 'query', name: 'hf_webhook' },
    }),
  }),
  check: nothingAt('/requests/00000000-0000-4000-8000-000000000000/status'),
});
