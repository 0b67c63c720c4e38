import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { fetchedFiles, media, type Takes } from './_contract.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { creditsAt } from './_key-checks.ts';

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
const Made = z.object({ data: z.object({ id: z.string() }) });

/** https://docs.genviral.io */
export default media({
  id: 'genviral',
  version: 'v1',
  title: 'Genviral',
  description: 'Studio for social content: pictures, videos and slideshows.',
  website: 'https://www.genviral.io',
  status: 'active',
  authType: 'api_key',
  setupNotes: 'Needs a Creator, Professional or Business plan: the Scheduler plan has no API.',
  credentials: { apiKey: secret('API key', { help: 'Genviral dashboard > API keys; it has the form id.secret' }) },
  api: 'https://www.genviral.io/api/partner/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errors: { 403: 'exhausted' },
  hub: true,
  models: [
    { id: 'google/nano-banana-2', operations: { image, edit } },
    { id: 'google/veo-3', operations: { video: { ...video, seconds: [4, 6, 8] } } },
    { id: 'veed/fabric-1.0', operations: { avatar } },
    { id: 'creatify/lipsync', operations: { avatar } },
  ],
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
  connect: jobPoll({
    choose: ({ operation }) => (operation === 'edit' ? 'image' : operation),
    jobs: {
      image: {
        timeoutMs: 180_000,
        submit: ({ model, prompt, ratio, count, sources }) => {
          const { image: pictures } = publicUrls(sources);
          const params = { aspect_ratio: ratio, max_images: count };
          return {
            path: '/studio/images/generate',
            json: { model_id: model, prompt, ...(pictures.length > 0 && { image_urls: pictures }), params },
          };
        },
        outputs: ['data.output_urls', 'data.output_url'],
      },
      video: {
        ...videoJob,
        submit: ({ model, prompt, ratio, seconds, sources }) => ({
          path: '/studio/videos/generate',
          json: {
            model_id: model,
            prompt,
            image_url: publicUrls(sources).image[0],
            video_url: publicUrls(sources).video[0],
            params: { aspect_ratio: ratio, duration_seconds: seconds },
          },
        }),
      },
      avatar: {
        ...videoJob,
        submit: ({ model, prompt, voice, sources }) => {
          const { image: pictures, video: videos, audio } = publicUrls(sources);
          return {
            path: '/studio/videos/generate',
            json: {
              model_id: model,
              image_url: pictures[0],
              video_url: videos[0],
              ...(audio[0] === undefined ? { speech_text: prompt, voice_id: voice } : { audio_url: audio[0] }),
            },
          };
        },
      },
      slideshow: {
        timeoutMs: 180_000,
        async before({ http }, { prompt, ratio, count, language, options }) {
          const json = { prompt, aspect_ratio: ratio, slide_count: count, language, pack_id: options!['pack'] };
          return {
            id: (await http.post('/slideshows/generate', Made, { json, creates: true, timeoutMs: 60_000 })).data.id,
          };
        },
        submit: (_request, _values, { id }) => ({ path: `/slideshows/${encodeURIComponent(id!)}/render` }),
        outputs: ['data.slides.*.rendered_image_url', 'data.rendered_image_urls'],
      },
    },
    tools: { packs: { path: '/packs', list: 'data.packs', id: 'id', label: 'name' } },
  }),
  check: creditsAt('/subscription', 'data.credits.remaining'),
});
