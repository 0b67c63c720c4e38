import { fetchedFiles, media, type Takes } from './_contract.ts';
import { dashscope, dashscopePictures, dashscopeTask, pixels } from './_dashscope.ts';
import { jobPoll } from './_job-poll.ts';
import type { JobRequest } from './_job.ts';

const SYNTHESIS = '/services/aigc/video-generation/video-synthesis';
const video: Takes = {
  promptLength: 5_000,
  sizes: ['720P', '1080P'],
  seconds: { from: 2, to: 15 },
  secondsNeeded: true,
};
const older: Takes = { ...video, promptLength: 1_500, seconds: [5, 10, 15] };
const FRAMES = ['first_frame', 'last_frame'];
const task = (inputOf: (request: JobRequest) => object, parametersOf?: (request: JobRequest) => object) =>
  dashscopeTask(SYNTHESIS, 'output.video_url', (request) => ({
    input: { prompt: request.prompt, ...inputOf(request) },
    parameters: parametersOf?.(request) ?? {
      resolution: request.size,
      duration: request.seconds,
      watermark: false,
      ratio: request.ratio,
    },
  }));

/** https://www.alibabacloud.com/help/en/model-studio/use-video-generation */
export default media({
  ...dashscope,
  id: 'wan',
  version: 'v1',
  title: 'Wan',
  description: 'Wan videos and pictures of Alibaba Model Studio.',
  website: 'https://wan.video',
  status: 'active',
  models: {
    'wan2.7-t2v': { video: { ...video, ratios: ['16:9', '9:16', '1:1', '4:3', '3:4'] } },
    'wan2.7-i2v': { video: { ...video, sources: fetchedFiles(1, 2, 'image') } },
    'wan2.6-t2v': { video: { ...older, sizes: ['1280x720', '720x1280', '1920x1080', '1080x1920'] } },
    'wan2.6-i2v': { video: { ...older, sources: fetchedFiles(1, 1, 'image') } },
    'wan2.7-image': { image: { sizes: ['1280x1280', '1696x960', '960x1696'], count: 4, promptLength: 2_100 } },
  },
  rhythm: { everyMs: 15_000, mostMs: 3_600_000, keptMs: 86_400_000 },
  connect: jobPoll(
    {
      image: dashscopePictures,
      'wan2.7-t2v': task(() => ({})),
      'wan2.7-i2v': task(({ images }) => ({ media: images.map((url, n) => ({ type: FRAMES[n], url })) })),
      'wan2.6-t2v': task(
        () => ({}),
        ({ size, seconds }) => ({ size: pixels(size), duration: seconds, watermark: false }),
      ),
      'wan2.6-i2v': task(({ images: [img_url] }) => ({ img_url })),
    },
    { choose: ({ operation, model }) => (operation === 'image' ? 'image' : model!) },
  ),
});
