import { secret } from '../kit/declare/fields.ts';
import { fetchedFiles, media, type MediaRequest, type Takes } from './_contract.ts';
import type { Job } from './_job.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { nothingAt } from './_key-checks.ts';

const ratios = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'];
const image: Takes = { ratios, promptLength: 6_000 };
const edit: Takes = { ...image, sources: fetchedFiles(1, 4, 'image') };
const framesOf = ({ sources }: MediaRequest) =>
  Object.fromEntries(publicUrls(sources).image.map((url, n) => [n === 0 ? 'start_frame' : 'end_frame', { url }]));

const generation = (bodyOf: (request: MediaRequest) => object): Job => ({
  submit: (request) => ({
    path: '/generations',
    json: { model: request.model, prompt: request.prompt, aspect_ratio: request.ratio, ...bodyOf(request) },
  }),
  poll: '/generations/{id}',
  status: 'state',
  outputs: 'output.*.url',
  error: ['failure_code', 'failure_reason'],
  failures: [
    [/content_moderated|output_not_found/, 'rejected'],
    [/budget_exhausted/, 'exhausted'],
  ],
});

/** https://docs.agents.lumalabs.ai; keys of the older Dream Machine API are not accepted there. */
export default media({
  id: 'luma',
  version: 'v1',
  title: 'Luma AI',
  description: 'Ray videos and Uni pictures.',
  website: 'https://lumalabs.ai',
  status: 'active',
  authType: 'api_key',
  setupNotes: 'Needs a key of the Luma Agents API: one of the Dream Machine API is not accepted.',
  credentials: { apiKey: secret('API key', { help: 'A key of the Luma Agents API; it begins with luma-api-' }) },
  api: 'https://agents.lumalabs.ai/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  models: [
    {
      id: 'ray-3.2',
      operations: {
        video: {
          ratios,
          promptLength: 6_000,
          sizes: ['360p', '540p', '720p', '1080p'],
          seconds: [5, 10],
          secondsNeeded: true,
          sources: fetchedFiles(0, 2, 'image'),
        },
      },
    },
    { id: 'uni-1', operations: { image, edit } },
    { id: 'uni-1-max', operations: { image, edit } },
  ],
  rhythm: { everyMs: 5_000, mostMs: 3_600_000, keptMs: 3_600_000 },
  connect: jobPoll({
    jobs: {
      video: generation((request) => ({
        type: 'video',
        video: { duration: `${request.seconds}s`, resolution: request.size, ...framesOf(request) },
      })),
      image: generation(() => ({ type: 'image' })),
      edit: generation(({ sources }) => ({
        type: 'image_edit',
        image_ref: publicUrls(sources).image.map((url) => ({ url })),
      })),
    },
  }),
  check: nothingAt('/generations/00000000-0000-4000-8000-000000000000'),
});
