import { z } from 'zod';
import { keyIn, listAt, shaped } from './_account.ts';
import type { MediaRequest } from './_calls.ts';
import { media, sentFiles } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import { openaiMedia } from './_openai-media.ts';

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '16:10', '10:16', '1:3', '3:1'];
const picture = { promptLength: 10_000, ratios, count: 8 };
const sources = sentFiles(1, 1, 'image');
/** A ratio is written as `16x9`. */
const formOf = ({ prompt, ratio, count }: MediaRequest) => ({
  prompt,
  aspect_ratio: ratio?.replace(':', 'x'),
  num_images: count?.toString(),
});

/** https://developer.ideogram.ai/api-reference */
export default media({
  id: 'ideogram',
  version: 'v1',
  status: 'active',
  title: 'Ideogram',
  description: 'Pictures with lettering that can be read, edits and upscaling.',
  website: 'https://ideogram.ai',
  ...keyIn({ name: 'api-key' }, 'ideogram.ai/manage-api'),
  api: 'https://api.ideogram.ai',
  errorInside: shaped({ data: z.array(z.object({ is_image_safe: z.literal(false) })).min(1) }, 'rejected'),
  models: {
    'ideogram-v4': { image: { promptLength: 10_000, sizes: ['2048x2048', '2560x1440', '1440x2560'] } },
    'ideogram-v3': { image: picture, edit: { ...picture, sources } },
  },
  actions: { upscale: { prompt: 'optional', promptLength: 10_000, sources } },
  connect: openaiMedia({
    image: (request) =>
      request.model === 'ideogram-v4' ? undefined : { path: '/v1/ideogram-v3/generate', multipart: formOf(request) },
    edit: (request) => ({
      path: '/v1/ideogram-v3/remix',
      multipart: { image: request.sources[0], ...formOf(request) },
    }),
    upscale: ({ prompt, sources: [file] }) => ({
      path: '/upscale',
      multipart: { image_file: file, image_request: JSON.stringify({ prompt }) },
    }),
    jobs: jobPoll({
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
    }),
  }),
  check: listAt('/models', 'models'),
});
