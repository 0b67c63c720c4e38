import { secret } from '../kit/declare/fields.ts';
import { fetchedFiles, media, type MediaRequest, type Takes } from './_contract.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { creditsAt } from './_key-checks.ts';
import { regionField } from './_region.ts';

/** The first picture is `input_image`, the others are numbered. */
const picturesOf = ({ sources }: MediaRequest) =>
  Object.fromEntries(
    publicUrls(sources).image.map((url, n) => [n === 0 ? 'input_image' : `input_image_${n + 1}`, url]),
  );
function sizeOf({ size }: MediaRequest) {
  const [width, height] = size?.split('x').map(Number) ?? [];
  return { width, height };
}

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
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key', { help: 'dashboard.bfl.ai > API keys' }),
    region: regionField({ global: 'Global', eu: 'Europe', us: 'United States' }),
  },
  api: 'https://api.bfl.ai/v1',
  regions: { eu: 'https://api.eu.bfl.ai/v1', us: 'https://api.us.bfl.ai/v1' },
  auth: { in: 'header', name: 'x-key', field: 'apiKey' },
  models: [
    { id: 'flux-2-pro', operations: { image, edit } },
    { id: 'flux-2-max', operations: { image, edit } },
    { id: 'flux-2-flex', operations: { image, edit } },
    { id: 'flux-2-klein-9b', operations: { image, edit } },
    {
      id: 'flux-kontext-max',
      operations: { image: { ratios }, edit: { ratios, sources: fetchedFiles(1, 4, 'image') } },
    },
    {
      id: 'flux-3-video',
      operations: { video: { ratios: ['16:9', '9:16', '1:1'], seconds: { from: 3, to: 10 }, secondsNeeded: true } },
    },
  ],
  rhythm: { everyMs: 2_000, mostMs: 1_800_000, keptMs: 600_000 },
  connect: jobPoll({
    choose: () => 'task',
    domains: ['bfl.ai'],
    pollHeaders: ({ apiKey }) => ({ 'x-key': apiKey! }),
    jobs: {
      task: {
        submit: (request) => ({
          path: `/${request.model}`,
          json: {
            prompt: request.prompt,
            aspect_ratio: request.ratio,
            ...sizeOf(request),
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
  }),
  check: creditsAt('/credits', 'credits'),
});
