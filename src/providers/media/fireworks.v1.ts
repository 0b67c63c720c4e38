import { secret } from '../kit/declare/fields.ts';
import { drawn } from './_binary.ts';
import { media } from './_contract.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { listAt } from './_key-checks.ts';
import { operations } from './_operations.ts';

const MODELS = 'accounts/fireworks/models';
const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21', '4:5', '5:4'];
const image = { ratios };
const edit = { ratios, sources: { kinds: ['image'], min: 1, max: 1, fetched: true } } as const;

const jobs = jobPoll({
  jobs: {
    edit: {
      submit: ({ model, prompt, ratio, sources }) => ({
        path: `/workflows/${model}`,
        json: { prompt, input_image: publicUrls(sources).image[0], aspect_ratio: ratio },
        keeps: { name: model!.slice(MODELS.length + 1) },
      }),
      id: 'request_id',
      poll: `/workflows/${MODELS}/{name}/get_result`,
      pollBody: ({ id }) => ({ id }),
      outputs: 'result.sample',
      error: ['details.error', 'error.message'],
    },
  },
});

/** https://docs.fireworks.ai/api-reference */
export default media({
  id: 'fireworks',
  version: 'v1',
  status: 'active',
  title: 'Fireworks AI',
  description: 'Pictures and edits by FLUX models.',
  website: 'https://fireworks.ai',
  authType: 'api_key',
  credentials: { apiKey: secret('API key', { help: 'app.fireworks.ai/settings/users/api-keys' }) },
  api: 'https://api.fireworks.ai/inference/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  hub: true,
  models: [
    { id: `${MODELS}/flux-1-schnell-fp8`, operations: { image } },
    { id: `${MODELS}/flux-1-dev-fp8`, operations: { image } },
    { id: `${MODELS}/flux-kontext-pro`, operations: { edit } },
    { id: `${MODELS}/flux-kontext-max`, operations: { edit } },
  ],
  connect: (line) =>
    operations(
      {
        image: ({ model, prompt, ratio }) =>
          drawn(line, `/workflows/${model}/text_to_image`, {
            json: { prompt, aspect_ratio: ratio },
            headers: { accept: 'image/jpeg' },
          }),
      },
      jobs(line),
    ),
  check: listAt('/models', 'data'),
});
