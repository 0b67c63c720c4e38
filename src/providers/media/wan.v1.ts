import { fetchedFiles, media, type MediaRequest, type Takes } from './_contract.ts';
import { dashscope, dashscopePictures, dashscopeTask } from './_dashscope.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';

const SYNTHESIS = '/services/aigc/video-generation/video-synthesis';
const video: Takes = {
  promptLength: 5_000,
  sizes: ['720P', '1080P'],
  seconds: { from: 2, to: 15 },
  secondsNeeded: true,
};
const FRAMES = ['first_frame', 'last_frame'];
const parametersOf = ({ size, seconds }: MediaRequest) => ({ resolution: size, duration: seconds, watermark: false });

/** https://www.alibabacloud.com/help/en/model-studio/use-video-generation */
export default media({
  ...dashscope,
  id: 'wan',
  version: 'v1',
  title: 'Wan',
  description: 'Wan videos and pictures of Alibaba Model Studio.',
  website: 'https://wan.video',
  status: 'active',
  models: [
    { id: 'wan2.7-t2v', operations: { video: { ...video, ratios: ['16:9', '9:16', '1:1', '4:3', '3:4'] } } },
    { id: 'wan2.7-i2v', operations: { video: { ...video, sources: fetchedFiles(1, 2, 'image') } } },
    {
      id: 'wan2.6-t2v',
      operations: {
        video: {
          ...video,
          promptLength: 1_500,
          sizes: ['1280x720', '720x1280', '1920x1080', '1080x1920'],
          seconds: [5, 10, 15],
        },
      },
    },
    {
      id: 'wan2.6-i2v',
      operations: {
        video: { ...video, promptLength: 1_500, seconds: [5, 10, 15], sources: fetchedFiles(1, 1, 'image') },
      },
    },
    {
      id: 'wan2.7-image',
      operations: { image: { sizes: ['1280x1280', '1696x960', '960x1696'], count: 4, promptLength: 2_100 } },
    },
  ],
  rhythm: { everyMs: 15_000, mostMs: 3_600_000, keptMs: 86_400_000 },
  connect: jobPoll({
    choose: ({ operation, model }) => (operation === 'image' ? 'image' : model!),
    jobs: {
      image: dashscopePictures,
      'wan2.7-t2v': dashscopeTask(SYNTHESIS, 'output.video_url', (request) => ({
        input: { prompt: request.prompt },
        parameters: { ...parametersOf(request), ratio: request.ratio },
      })),
      'wan2.7-i2v': dashscopeTask(SYNTHESIS, 'output.video_url', (request) => ({
        input: {
          prompt: request.prompt,
          media: publicUrls(request.sources).image.map((url, n) => ({ type: FRAMES[n], url })),
        },
        parameters: parametersOf(request),
      })),
      'wan2.6-t2v': dashscopeTask(SYNTHESIS, 'output.video_url', ({ prompt, size, seconds }) => ({
        input: { prompt },
        parameters: {
          ...(size !== undefined && { size: size.replace('x', '*') }),
          duration: seconds,
          watermark: false,
        },
      })),
      'wan2.6-i2v': dashscopeTask(SYNTHESIS, 'output.video_url', (request) => ({
        input: { prompt: request.prompt, img_url: publicUrls(request.sources).image[0] },
        parameters: parametersOf(request),
      })),
    },
  }),
});
