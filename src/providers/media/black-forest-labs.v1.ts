import { creditsAt, keyIn, regionField } from './_account.ts';
import { alike, fetchedFiles, media, type Takes } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import type { JobRequest } from './_job.ts';
import { pixelsOf } from './_operations.ts';

/** The first picture is `input_image`, the others are numbered. */
const picturesOf = ({ images }: JobRequest) =>
  Object.fromEntries(images.map((url, n) => [n === 0 ? 'input_image' : `input_image_${n + 1}`, url]));

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'];
const image: Takes = { ratios, sizes: ['1024x1024', '1536x1024', '1024x1536', '1920x1088', '1088x1920'] };
const edit: Takes = { ratios, sources: fetchedFiles(1, 8, 'image') };

/** https://docs.bfl.ai */
export default media({
  id: 'black-forest-labs',
  version: 'v1',
  title: 'Black Forest Labs',
  description: 'FLUX picture models and FLUX 3 video from their maker.',
  website: 'https://bfl.ai',
  status: 'active',
  api: 'https://api.bfl.ai/v1',
  regions: { eu: 'https://api.eu.bfl.ai/v1', us: 'https://api.us.bfl.ai/v1' },
  ...keyIn({ name: 'x-key' }, 'dashboard.bfl.ai > API keys', {
    fields: { region: regionField({ global: 'Global', eu: 'Europe', us: 'United States' }) },
  }),
  models: {
    ...alike({ image, edit }, 'flux-2-pro', 'flux-2-max', 'flux-2-flex', 'flux-2-klein-9b'),
    'flux-kontext-max': { image: { ratios }, edit: { ratios, sources: fetchedFiles(1, 4, 'image') } },
    'flux-3-video': { video: { ratios: ['16:9', '9:16', '1:1'], seconds: { from: 3, to: 10 }, secondsNeeded: true } },
  },
  rhythm: { everyMs: 2_000, mostMs: 1_800_000, keptMs: 600_000 },
  connect: jobPoll(
    {
      task: {
        submit: (request) => ({
          path: `/${request.model}`,
          json: {
            prompt: request.prompt,
            aspect_ratio: request.ratio,
            ...pixelsOf(request.size),
            duration: request.seconds,
            ...picturesOf(request),
          },
        }),
        keeps: { poll: 'polling_url' },
        poll: { at: 'poll' },
        states: { 'Task not found': 'rejected' },
        outputs: 'result.sample',
        error: ['status', 'details.error'],
        cost: { at: 'cost', micros: 10_000 },
      },
    },
    { domains: ['bfl.ai'], pollHeaders: ({ apiKey }) => ({ 'x-key': apiKey! }) },
  ),
  check: creditsAt('/credits', 'credits'),
});
