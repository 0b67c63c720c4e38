import { alike, fetchedFiles, media, type Takes } from './_contract.ts';
import {
  dashscope,
  dashscopePictures,
  dashscopeSpeech,
  dashscopeTask,
  pixels,
  SPEECH_LANGUAGES,
} from './_dashscope.ts';
import { jobPoll } from './_job-poll.ts';

const sizes = ['1024x1024', '1328x1328', '1664x928', '928x1664', '1472x1104', '1104x1472'];
const image: Takes = { sizes, count: 6, promptLength: 800 };
const speech: Takes = {
  promptLength: 600,
  voices: 'any',
  languages: Object.keys(SPEECH_LANGUAGES),
  counted: 'han twice',
  anyOf: [['voice']],
};
const edit: Takes = { ...image, sources: fetchedFiles(1, 3, 'image') };

/** https://www.alibabacloud.com/help/en/model-studio */
export default media({
  ...dashscope,
  id: 'qwen',
  version: 'v1',
  title: 'Qwen',
  description: 'Qwen pictures, their editing, and speech of Alibaba Model Studio.',
  website: 'https://www.alibabacloud.com/product/modelstudio',
  status: 'active',
  models: {
    ...alike({ image, edit }, 'qwen-image-2.0-pro', 'qwen-image-2.0'),
    ...alike({ image: { ...image, count: 1 } }, 'z-image-turbo', 'qwen-image'),
    'qwen3-tts-flash': { speech },
  },
  rhythm: { everyMs: 5_000, mostMs: 1_800_000, keptMs: 86_400_000 },
  connect: jobPoll(
    {
      image: dashscopePictures,
      task: dashscopeTask(
        '/services/aigc/text2image/image-synthesis',
        'output.results.*.url',
        ({ prompt, size, count = 1 }) => ({
          input: { prompt },
          parameters: { size: pixels(size), n: count },
        }),
      ),
      speech: dashscopeSpeech,
    },
    {
      choose: ({ operation, model }) => (model === 'qwen-image' ? 'task' : operation === 'edit' ? 'image' : operation),
    },
  ),
});
