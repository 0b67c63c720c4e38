import { z } from 'zod';
import { bearerKey, creditsAt, shaped } from './_account.ts';
import { alike, media, sentFiles } from './_contract.ts';
import { openaiMedia } from './_openai-media.ts';

/** A thousand units are sold for one dollar. */
const cost = { at: ['credits'], micros: 1_000 };
const ratios = ['1:1', '4:3', '3:4', '16:9', '9:16', '3:2', '2:3'];
const picture = { promptLength: 10_000, ratios, count: 6 };
const sources = sentFiles(1, 1, 'image');
const drawing = { image: picture, edit: { promptLength: 10_000, count: 6, sources } };
/** How much an edit may change; the provider takes none without it. */
const STRENGTH = '0.5';

/** https://www.recraft.ai/docs/api-reference */
export default media({
  id: 'recraft',
  version: 'v1',
  status: 'active',
  title: 'Recraft',
  description: 'Pictures and vector graphics for design, edits and upscaling.',
  website: 'https://www.recraft.ai',
  ...bearerKey('recraft.ai, API, Generate token', { label: 'API token' }),
  api: 'https://external.api.recraft.ai/v1',
  errorOf: shaped({ status: z.literal(400), message: z.string().regex(/credits/i) }, 'exhausted'),
  models: {
    ...alike(drawing, 'recraftv4_1', 'recraftv4_1_pro'),
    recraftv4_1_vector: { image: picture },
    recraftv4: drawing,
    recraftv3: { ...drawing, image: { ...picture, promptLength: 1_000 } },
  },
  actions: { upscale: { prompt: 'none', sources } },
  connect: openaiMedia({
    cost,
    image: ({ model, prompt, ratio, count }) => ({
      json: { model, prompt, n: count, size: ratio, response_format: 'url' },
    }),
    edit: ({ model, prompt, count, sources: [image] }) => ({
      path: '/images/imageToImage',
      multipart: { model: model!, prompt, n: count?.toString(), strength: STRENGTH, image },
    }),
    upscale: ({ sources: [file] }) => ({ path: '/images/crispUpscale', list: 'image', multipart: { file } }),
  }),
  check: creditsAt('/users/me', 'credits'),
});
