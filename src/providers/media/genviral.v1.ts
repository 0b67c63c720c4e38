import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { bearerKey, creditsAt } from './_account.ts';
import { alike, fetchedFiles, media, type Takes } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import type { Job } from './_job.ts';

const ratios = ['1:1', '16:9', '9:16', '4:5'];
const image: Takes = { ratios, count: 4 };
const edit: Takes = { ratios, sources: fetchedFiles(1, 8, 'image') };
const video: Takes = {
  ratios,
  seconds: { from: 1, to: 30 },
  secondsNeeded: true,
  sources: fetchedFiles(0, 1, 'image', 'video'),
};
/** A person who speaks: the prompt is the text, unless there is a recording. */
const avatar: Takes = {
  prompt: 'optional',
  voices: 'any',
  sources: fetchedFiles(1, 2, 'image', 'video', 'audio'),
  anyOf: [['prompt', 'audio']],
};

const videoJob = {
  id: 'data.video_id',
  poll: '/studio/videos/{id}',
  status: 'data.status',
  outputs: 'data.output_url',
  error: ['data.error', 'data.error.message', 'message'],
  kind: 'video',
} as const;
/** The credits that a reply says were used, in dollars where the owner has named the price of one. */
const creditsUsed = (dollars: string | undefined): Pick<Job, 'cost'> =>
  dollars === undefined ? {} : { cost: { at: 'data.credits_used', micros: Number(dollars) * 1_000_000 } };
const Made = z.object({ data: z.object({ id: z.string() }) });

/** https://docs.genviral.io */
export default media({
  id: 'genviral',
  version: 'v1',
  title: 'Genviral',
  description: 'Studio for social content: pictures, videos and slideshows.',
  website: 'https://www.genviral.io',
  status: 'active',
  setupNotes: 'Needs a Creator, Professional or Business plan: the Scheduler plan has no API.',
  ...bearerKey('Genviral dashboard > API keys; it has the form id.secret', {
    fields: {
      creditPrice: text('Price of a credit', {
        required: false,
        validation: String.raw`\d{1,3}(\.\d{1,6})?`,
        placeholder: '0.05',
        help: 'In US dollars, by your plan: the credits that a reply counts are booked at it. Empty: estimates are booked',
      }),
    },
  }),
  api: 'https://www.genviral.io/api/partner/v1',
  errors: { 403: 'exhausted' },
  hub: true,
  models: {
    'google/nano-banana-2': { image, edit },
    'google/veo-3': { video: { ...video, seconds: [4, 6, 8] } },
    ...alike({ avatar }, 'veed/fabric-1.0', 'creatify/lipsync'),
  },
  anyModel: { id: /^[\w.-]+\/[\w.-]+$/, operations: { image, edit, video } },
  actions: {
    slideshow: {
      ratios: ['9:16', '4:5', '1:1'],
      count: 10,
      languages: true,
      options: { pack: { label: 'Image pack', required: true, tool: 'packs' } },
    },
  },
  rhythm: { everyMs: 5_000, mostMs: 1_800_000 },
  connect: (line) =>
    jobPoll(
      {
        image: {
          submit: asJson('/studio/images/generate', ({ model, prompt, ratio, count = 1, images }) => ({
            model_id: model,
            prompt,
            ...(images.length > 0 && { image_urls: images }),
            params: { aspect_ratio: ratio, max_images: count },
          })),
          outputs: ['data.output_urls', 'data.output_url'],
          ...creditsUsed(line.values['creditPrice']),
        },
        video: {
          ...videoJob,
          ...creditsUsed(line.values['creditPrice']),
          submit: asJson('/studio/videos/generate', ({ model, prompt, ratio, seconds, images, videos }) => ({
            model_id: model,
            prompt,
            image_url: images[0],
            video_url: videos[0],
            params: { aspect_ratio: ratio, duration_seconds: seconds },
          })),
        },
        avatar: {
          ...videoJob,
          ...creditsUsed(line.values['creditPrice']),
          submit: asJson(
            '/studio/videos/generate',
            ({ model, prompt, voice, images, videos, sounds: [audio_url] }) => ({
              model_id: model,
              image_url: images[0],
              video_url: videos[0],
              ...(audio_url === undefined ? { speech_text: prompt, voice_id: voice } : { audio_url }),
            }),
          ),
        },
        slideshow: {
          async before({ http }, { prompt, ratio, count, language, options }) {
            const json = { prompt, aspect_ratio: ratio, slide_count: count, language, pack_id: options!['pack'] };
            return {
              id: (await http.post('/slideshows/generate', Made, { json, creates: true, timeoutMs: 60_000 })).data.id,
            };
          },
          submit: (_request, { id }) => ({ path: `/slideshows/${encodeURIComponent(id!)}/render` }),
          outputs: ['data.slides.*.rendered_image_url', 'data.rendered_image_urls'],
        },
      },
      {
        choose: ({ operation }) => (operation === 'edit' ? 'image' : operation),

        tools: { packs: { path: '/packs', list: 'data.packs', id: 'id', label: 'name' } },
      },
    )(line),
  check: creditsAt('/subscription', 'data.credits.remaining'),
});
