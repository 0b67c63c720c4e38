import { z } from 'zod';
import { accountAt, bearerKey, shaped } from './_account.ts';
import type { MediaRequest } from './_calls.ts';
import { alike, media, sentFiles, type Takes } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import type { Job } from './_job.ts';
import { pixelsOf } from './_operations.ts';

const sizeOf = ({ size = '1024x1024' }: MediaRequest) => pixelsOf(size);
const sizes = ['1024x1024', '1536x1024', '1024x1536', '1360x768', '768x1360'];
/** More than four pictures are made only where neither side is over 768 pixels. */
const image: Takes = { sizes, count: 4, promptLength: 1_500 };
const video: Takes = {
  promptLength: 1_500,
  sizes: ['480', '720', '1080'],
  seconds: [4, 5, 6, 8, 10],
  secondsNeeded: true,
  sources: sentFiles(0, 1, 'image'),
};
/** Models of the first generation of the API; every other is one of the second. */
const OWN = ['7b592283-e8a7-4c5a-9ba6-d18c31f258b9'];

/** A job whose submit answers below a name of its own; both generations are asked for at one place. */
const job = (name: string, submit: Job['submit'], outputs: string): Job => ({
  submit,
  id: `${name}.generationId`,
  poll: '/v1/generations/{id}',
  status: 'generations_by_pk.status',
  outputs,
  cost: { at: `${name}.cost.amount`, micros: 1_000_000, unit: [`${name}.cost.unit`, 'DOLLARS'] },
});
const PICTURES = 'generations_by_pk.generated_images.*.url';
const VIDEOS = 'generations_by_pk.generated_images.*.motionMP4URL';
const videoOf = ({ model, prompt, size, seconds }: MediaRequest) => ({
  model,
  prompt,
  ...(size !== undefined && { resolution: `RESOLUTION_${size}` }),
  duration: seconds,
  isPublic: false,
});

/** A file is uploaded to an address that is signed for two minutes. */
const Upload = z.object({
  uploadInitImage: z.object({
    id: z.string(),
    url: z.string(),
    fields: z.string().transform((text) => z.record(z.string(), z.string()).parse(JSON.parse(text))),
  }),
});
const uploaded: NonNullable<Job['before']> = async ({ http }, { sources: [file] }) => {
  const extension = file!.contentType === 'image/png' ? 'png' : file!.contentType === 'image/webp' ? 'webp' : 'jpg';
  const { uploadInitImage: to } = await http.post('/v1/init-image', Upload, { json: { extension } });
  await http.post(to.url, z.unknown(), { multipart: { ...to.fields, file: file! } });
  return { image: to.id };
};

/** https://docs.leonardo.ai */
export default media({
  id: 'leonardo',
  version: 'v1',
  title: 'Leonardo.Ai',
  description: 'Lucid and Phoenix picture models, and pictures and videos of partners.',
  website: 'https://leonardo.ai',
  status: 'active',
  ...bearerKey('app.leonardo.ai > API access, a production key'),
  api: 'https://cloud.leonardo.ai/api/rest',
  errorOf: shaped({ status: z.literal([400, 402]), error: z.string().regex(/tokens|credits/i) }, 'exhausted'),
  hub: true,
  models: {
    ...alike({ image }, ...OWN, 'nano-banana-2', 'gpt-image-2', 'recraft-v4-pro', 'seedream-4.5', 'gemini-image-2'),
    ...alike({ video }, 'MOTION2', 'VEO3', 'VEO3FAST', 'KLING2_5'),
  },
  actions: { upscale: { prompt: 'optional', sources: sentFiles(1, 1, 'image') } },
  rhythm: { everyMs: 4_000, mostMs: 1_800_000 },
  connect: jobPoll(
    {
      own: job(
        'sdGenerationJob',
        (request) => ({
          path: '/v1/generations',
          json: {
            modelId: request.model,
            prompt: request.prompt,
            ...sizeOf(request),
            num_images: request.count ?? 1, // else four
            public: false,
          },
        }),
        PICTURES,
      ),
      partner: job(
        'generate',
        (request) => ({
          path: '/v2/generations',
          json: {
            model: request.model,
            public: false,
            parameters: { prompt: request.prompt, ...sizeOf(request), quantity: request.count ?? 1 },
          },
        }),
        PICTURES,
      ),
      video: job(
        'motionVideoGenerationJob',
        (request) => ({ path: '/v1/generations-text-to-video', json: videoOf(request) }),
        VIDEOS,
      ),
      animation: {
        ...job(
          'motionVideoGenerationJob',
          (request, { image: imageId }) => ({
            path: '/v1/generations-image-to-video',
            json: { ...videoOf(request), imageId, imageType: 'UPLOADED' },
          }),
          VIDEOS,
        ),
        before: uploaded,
      },
      upscale: {
        before: uploaded,
        submit: ({ prompt }, { image: initImageId }) => ({
          path: '/v1/variations/universal-upscaler',
          json: { initImageId, prompt, upscaleMultiplier: 1.5 },
        }),
        id: 'universalUpscaler.id',
        poll: '/v1/variations/{id}',
        status: 'generated_image_variation_generic.0.status',
        outputs: 'generated_image_variation_generic.*.url',
        cost: {
          at: 'universalUpscaler.cost.amount',
          micros: 1_000_000,
          unit: ['universalUpscaler.cost.unit', 'DOLLARS'],
        },
      },
    },
    {
      choose: ({ operation, model, sources }) =>
        operation === 'image'
          ? OWN.includes(model!)
            ? 'own'
            : 'partner'
          : operation === 'video' && sources.length > 0
            ? 'animation'
            : operation,
    },
  ),
  check: accountAt('/v1/me', 'user_details.*.user.username'),
});
