import { bearerKey, creditsAt } from './_account.ts';
import { fetchedFiles, media } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';

const job = { poll: '/slideshows/{id}/status', error: ['error', 'message'] } as const;

/** https://reel.farm/api-docs */
export default media({
  id: 'reelfarm',
  version: 'v1',
  title: 'ReelFarm',
  description: 'Slideshows from a brief, as pictures or as a video.',
  website: 'https://reel.farm',
  status: 'active',
  setupNotes: 'Needs a Growth, Scale or Unlimited plan of ReelFarm.',
  ...bearerKey('reel.farm/dashboard > Settings > API keys; it begins with rf_'),
  api: 'https://reel.farm/api/v1',
  actions: {
    slideshow: { sources: fetchedFiles(0, 10, 'image') },
    video: {
      prompt: 'none',
      ratios: ['4:5', '9:16', '1:1', '16:9'],
      seconds: { from: 1, to: 10 },
      sources: fetchedFiles(1, 10, 'image'),
    },
  },
  rhythm: { everyMs: 5_000, mostMs: 1_800_000 },
  connect: jobPoll({
    slideshow: {
      ...job,
      submit: asJson('/slideshows/generate', ({ prompt, images }) => ({
        additional_context: prompt,
        ...(images.length > 0 && { images }),
      })),
      outputs: ['images', 'images.*.url', 'slides.*.image_url'],
    },
    /** The pictures as they are, one after the other; `seconds` is the time of each. */
    video: {
      ...job,
      submit: asJson('/slideshows/create', ({ ratio, seconds, images }) => ({
        slides: images.map((image_url) => ({ image_url })),
        aspect_ratio: ratio,
        export_as_video: true,
        duration: seconds,
      })),
      status: 'video_status',
      result: { path: '/videos/{video}', keeps: { video: 'video_id' } },
      outputs: ['video_url', 'url'],
    },
  }),
  check: creditsAt('/account', 'credits'),
});
