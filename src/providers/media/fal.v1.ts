import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { shaped } from './_account.ts';
import { fetchedFiles, media, type Takes } from './_contract.ts';
import { valuesAt } from './_job-answers.ts';
import { jobPoll } from './_job-poll.ts';
import type { Job, JobRequest } from './_job.ts';
import { pixelsOf } from './_operations.ts';
import { queueOfAddresses } from './_queue.ts';

/** Models that take lengths with their unit; others take the number as a text. */
const WITH_UNIT = /^fal-ai\/veo/;
/** Models that take one picture as `image_url` although they make pictures; others take a list. */
const ONE_PICTURE = /upscale|kontext|remove/;

/** Models that take pictures to refer to, which none of their frames has to be: a list, by one of two names. */
const REFERENCES = /\/reference-to-video(?:\/|$)/;
const NAMED_REFERENCES = /\/(vidu|seedance\/v1)\//;

function picturesOf({ operation, model, images }: JobRequest) {
  if (REFERENCES.test(model!))
    return images.length > 0 && { [NAMED_REFERENCES.test(model!) ? 'reference_image_urls' : 'image_urls']: images };
  if (operation === 'edit' && !ONE_PICTURE.test(model!)) return { image_urls: images };
  return { image_url: images[0] };
}

/** Inputs differ by model; these are the names that most have. */
function inputOf(request: JobRequest) {
  const { operation, model, prompt, ratio, size, seconds, count, voice, videos, sounds } = request;
  return {
    ...(operation === 'speech' ? { text: prompt } : { prompt }),
    aspect_ratio: ratio,
    ...(size !== undefined && { image_size: pixelsOf(size) }),
    ...(seconds !== undefined && { duration: `${seconds}${WITH_UNIT.test(model!) ? 's' : ''}` }),
    num_images: count,
    voice,
    ...picturesOf(request),
    video_url: videos[0],
    audio_url: sounds[0],
  };
}

/** Units of the result, as a header tells them, times the price of the model. */
const Price = z.object({ prices: z.array(z.object({ unit_price: z.number(), currency: z.literal('USD') })).min(1) });
const bill: Job['bill'] = async ({ http, hosts }, { endpoint }, body) => {
  const units = Number(valuesAt(body, 'headers.x-fal-billable-units')[0]);
  if (Number.isNaN(units)) return undefined;
  const { prices } = await http.get(`${hosts['platform']}/models/pricing`, Price, {
    query: { endpoint_id: String(endpoint) },
  });
  return { micros: Math.ceil(units * prices[0]!.unit_price * 1_000_000), source: 'price_api' };
};

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '21:9'];
const sizes = ['1024x1024', '1536x1024', '1024x1536', '1920x1080', '1080x1920'];
const edit: Takes = { ratios, count: 4, sources: fetchedFiles(1, 8, 'image') };
const video: Takes = {
  ratios: ['16:9', '9:16', '1:1'],
  seconds: { from: 3, to: 15 },
  secondsNeeded: true,
  sources: fetchedFiles(0, 1, 'image'),
};

/** https://fal.ai/docs */
export default media({
  id: 'fal',
  version: 'v1',
  title: 'fal',
  description: 'Hub of models for pictures, videos, sound and avatars.',
  website: 'https://fal.ai',
  status: 'active',
  authType: 'api_key',
  credentials: { apiKey: secret('API key', { help: 'fal.ai/dashboard/keys; it has the form id:secret' }) },
  api: 'https://queue.fal.run',
  hosts: { platform: 'https://api.fal.ai/v1' },
  auth: [
    { in: 'header', name: 'authorization', prefix: 'Key ', field: 'apiKey' },
    { host: 'platform', in: 'header', name: 'authorization', prefix: 'Key ', field: 'apiKey' },
  ],
  errorOf: shaped({ status: z.literal(403), detail: z.string().regex(/balance/i) }, 'exhausted'),
  hub: true,
  models: {
    'fal-ai/flux-2-pro': { image: { sizes } },
    'fal-ai/nano-banana-pro': { image: { ratios, count: 4 } },
    'fal-ai/nano-banana-pro/edit': { edit },
    'fal-ai/veo3.1': { video: { ratios: ['16:9', '9:16'], seconds: [4, 6, 8], secondsNeeded: true } },
  },
  anyModel: {
    id: /^[\w.-]+(\/[\w.-]+)+$/,
    operations: {
      image: { ratios, sizes, count: 4 },
      edit,
      video,
      speech: { voices: 'any' },
      music: {},
      avatar: { prompt: 'optional', sources: fetchedFiles(1, 2, 'image', 'audio') },
      upscale: { prompt: 'none', sources: fetchedFiles(1, 1, 'image', 'video') },
    },
  },
  rhythm: { everyMs: 3_000, mostMs: 3_600_000 },
  connect: jobPoll({
    request: queueOfAddresses({
      submit: (request) => ({
        path: `/${request.model}`,
        json: inputOf(request),
        headers: { 'x-fal-no-retry': '1' },
        keeps: { endpoint: request.model! },
      }),
      bill,
      callback: { in: 'query', name: 'fal_webhook' },
    }),
  }),
  async check({ http, hosts }) {
    await http.get(`${hosts['platform']}/models/pricing`, Price, { query: { endpoint_id: 'fal-ai/flux/schnell' } });
    return 'The key is accepted';
  },
});
