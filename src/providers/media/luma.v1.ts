import { bearerKey, nothingAt } from './_account.ts';
import { alike, fetchedFiles, media, type Takes } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import type { Job, JobRequest } from './_job.ts';

const image: Takes = { ratios: ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'], promptLength: 6_000 };
const edit: Takes = { ...image, sources: fetchedFiles(1, 4, 'image') };
const video: Takes = {
  ...image,
  sizes: ['360p', '540p', '720p', '1080p'],
  seconds: [5, 10],
  secondsNeeded: true,
  sources: fetchedFiles(0, 2, 'image'),
};
const frame = (url: string | undefined) => url && { url };

const generation = (bodyOf: (request: JobRequest) => object): Job => ({
  submit: asJson('/generations', (request) => ({
    model: request.model,
    prompt: request.prompt,
    aspect_ratio: request.ratio,
    ...bodyOf(request),
  })),
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
  setupNotes: 'Needs a key of the Luma Agents API: one of the Dream Machine API is not accepted.',
  ...bearerKey('A key of the Luma Agents API; it begins with luma-api-'),
  api: 'https://agents.lumalabs.ai/v1',
  models: { 'ray-3.2': { video }, ...alike({ image, edit }, 'uni-1', 'uni-1-max') },
  rhythm: { everyMs: 5_000, mostMs: 3_600_000, keptMs: 3_600_000 },
  connect: jobPoll({
    video: generation(({ seconds, size, images: [first, last] }) => ({
      type: 'video',
      video: { duration: `${seconds}s`, resolution: size, start_frame: frame(first), end_frame: frame(last) },
    })),
    image: generation(() => ({ type: 'image' })),
    edit: generation(({ images }) => ({ type: 'image_edit', image_ref: images.map((url) => ({ url })) })),
  }),
  check: nothingAt('/generations/00000000-0000-4000-8000-000000000000'),
});
