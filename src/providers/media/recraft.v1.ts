import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { creditsAt } from './_key-checks.ts';
import { pictures } from './_openai-media.ts';
import { operations } from './_operations.ts';

/** A thousand units are sold for one dollar. */
const cost = { at: ['credits'], micros: 1_000 };
const ratios = ['1:1', '4:3', '3:4', '16:9', '9:16', '3:2', '2:3'];
const picture = { promptLength: 10_000, ratios, count: 6 };
const sources = { kinds: ['image'], min: 1, max: 1 } as const;
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
  authType: 'api_key',
  credentials: { apiKey: secret('API token', { help: 'recraft.ai, API, Generate token' }) },
  api: 'https://external.api.recraft.ai/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: z
    .object({ status: z.literal(400), message: z.string().regex(/credits/i) })
    .transform(() => 'exhausted' as const),
  models: [
    { id: 'recraftv4_1', operations: drawing },
    { id: 'recraftv4_1_pro', operations: drawing },
    { id: 'recraftv4_1_vector', operations: { image: picture } },
    { id: 'recraftv4', operations: drawing },
    { id: 'recraftv3', operations: { ...drawing, image: { ...picture, promptLength: 1_000 } } },
  ],
  actions: { upscale: { prompt: 'none', sources } },
  connect: (line) =>
    operations({
      image: ({ model, prompt, ratio, count }) =>
        pictures(
          line,
          '/images/generations',
          { json: { model, prompt, n: count, size: ratio, response_format: 'url' } },
          { cost },
        ),
      edit: ({ model, prompt, count, sources: [image] }) =>
        pictures(
          line,
          '/images/imageToImage',
          { multipart: { model: model!, prompt, n: count?.toString(), strength: STRENGTH, image } },
          { cost },
        ),
      upscale: ({ sources: [file] }) =>
        pictures(line, '/images/crispUpscale', { multipart: { file } }, { list: 'image', cost }),
    }),
  check: creditsAt('/users/me', 'credits'),
});
