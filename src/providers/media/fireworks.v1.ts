import { bearerKey, listAt } from './_account.ts';
import { drawn } from './_binary.ts';
import { alike, fetchedFiles, media } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import { operations } from './_operations.ts';

const MODELS = 'accounts/fireworks/models';
const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21', '4:5', '5:4'];
const image = { ratios };
const edit = { ratios, sources: fetchedFiles(1, 1, 'image') } as const;

const jobs = jobPoll({
  edit: {
    submit: ({ model, prompt, ratio, images: [input_image] }) => ({
      path: `/workflows/${model}`,
      json: { prompt, input_image, aspect_ratio: ratio },
      keeps: { name: model!.slice(MODELS.length + 1) },
    }),
    id: 'request_id',
    poll: `/workflows/${MODELS}/{name}/get_result`,
    pollBody: ({ id }) => ({ id }),
    outputs: 'result.sample',
    error: ['details.error', 'error.message'],
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
  ...bearerKey('app.fireworks.ai/settings/users/api-keys'),
  api: 'https://api.fireworks.ai/inference/v1',
  hub: true,
  models: {
    ...alike({ image }, `${MODELS}/flux-1-schnell-fp8`, `${MODELS}/flux-1-dev-fp8`),
    ...alike({ edit }, `${MODELS}/flux-kontext-pro`, `${MODELS}/flux-kontext-max`),
  },
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
