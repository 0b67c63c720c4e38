import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import { listAt } from './_key-checks.ts';
import { pictures } from './_openai-media.ts';
import { operations } from './_operations.ts';

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '16:10', '10:16', '1:3', '3:1'];
/** `16x9`, as this provider writes it. */
const ratioOf = (ratio: string | undefined) => ratio?.replace(':', 'x');
const picture = { promptLength: 10_000, ratios, count: 8 };
const sources = { kinds: ['image'], min: 1, max: 1 } as const;
const Unsafe = z.object({ is_image_safe: z.literal(false) });

const jobs = jobPoll({
  jobs: {
    image: {
      submit: ({ prompt, size }) => ({
        path: '/v1/ideogram-v4/async/generate',
        multipart: { text_prompt: prompt, resolution: size },
      }),
      id: 'generation_id',
      poll: '/v1/generations/{id}',
      outputs: ['data.*.url', 'result.data.*.url'],
      error: ['error'],
      callback: { in: 'query', name: 'webhook_url' },
    },
  },
});

/** https://developer.ideogram.ai/api-reference */
export default media({
  id: 'ideogram',
  version: 'v1',
  status: 'active',
  title: 'Ideogram',
  description: 'Pictures with lettering that can be read, edits and upscaling.',
  website: 'https://ideogram.ai',
  authType: 'api_key',
  credentials: { apiKey: secret('API key', { help: 'ideogram.ai/manage-api' }) },
  api: 'https://api.ideogram.ai',
  auth: { in: 'header', name: 'api-key', field: 'apiKey' },
  errorInside: z.object({ data: z.array(Unsafe).min(1) }).transform(() => 'rejected' as const),
  models: [
    {
      id: 'ideogram-v4',
      operations: { image: { promptLength: 10_000, sizes: ['2048x2048', '2560x1440', '1440x2560'] } },
    },
    { id: 'ideogram-v3', operations: { image: picture, edit: { ...picture, sources } } },
  ],
  actions: { upscale: { prompt: 'optional', promptLength: 10_000, sources } },
  connect(line) {
    const later = jobs(line);
    const atOnce = operations({
      image: ({ prompt, ratio, count }) =>
        pictures(line, '/v1/ideogram-v3/generate', {
          multipart: { prompt, aspect_ratio: ratioOf(ratio), num_images: count?.toString() },
        }),
      edit: ({ prompt, ratio, count, sources: [image] }) =>
        pictures(line, '/v1/ideogram-v3/remix', {
          multipart: { image, prompt, aspect_ratio: ratioOf(ratio), num_images: count?.toString() },
        }),
      upscale: ({ prompt, sources: [file] }) =>
        pictures(line, '/upscale', { multipart: { image_file: file, image_request: JSON.stringify({ prompt }) } }),
    });
    return {
      ...later,
      start: (request) => (request.model === 'ideogram-v4' ? later : atOnce).start(request),
    };
  },
  check: listAt('/models', 'models'),
});
