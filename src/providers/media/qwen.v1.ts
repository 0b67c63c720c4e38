import { fetchedFiles, media, type Takes } from './_contract.ts';
import { dashscope, dashscopePictures, dashscopeTask } from './_dashscope.ts';
import { jobPoll } from './_job-poll.ts';

const sizes = ['1024x1024', '1328x1328', '1664x928', '928x1664', '1472x1104', '1104x1472'];
const image: Takes = { sizes, count: 6, promptLength: 800 };
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
  models: [
    { id: 'qwen-image-2.0-pro', operations: { image, edit } },
    { id: 'qwen-image-2.0', operations: { image, edit } },
    { id: 'z-image-turbo', operations: { image: { ...image, count: 1 } } },
    { id: 'qwen-image', operations: { image: { ...image, count: 1 } } },
    {
      id: 'qwen3-tts-flash',
      operations: { speech: { promptLength: 600, voices: 'any', languages: true, anyOf: [['voice']] } },
    },
  ],
  rhythm: { everyMs: 5_000, mostMs: 1_800_000, keptMs: 86_400_000 },
  connect: jobPoll({
    choose: ({ operation, model }) => (model === 'qwen-image' ? 'task' : operation === 'edit' ? 'image' : operation),
    jobs: {
      image: dashscopePictures,
      task: dashscopeTask(
        '/services/aigc/text2image/image-synthesis',
        'output.results.*.url',
        ({ prompt, size, count }) => ({
          input: { prompt },
          parameters: { ...(size !== undefined && { size: size.replace('x', '*') }), n: count },
        }),
      ),
      speech: {
        timeoutMs: 120_000,
        submit: ({ model, prompt, voice, language }) => ({
          path: '/services/aigc/multimodal-generation/generation',
          json: { model, input: { text: prompt, voice, language_type: language } },
        }),
        outputs: 'output.audio.url',
        usage: { characters: { at: 'usage.characters' } },
      },
    },
  }),
});
