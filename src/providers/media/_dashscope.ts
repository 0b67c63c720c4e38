import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { regionField, shaped } from './_account.ts';
import type { MediaSpec } from './_contract.ts';
import { asJson } from './_job-poll.ts';
import type { Job, JobRequest } from './_job.ts';

/** The fields of a setting: keys belong to one region, or to a workspace. */
export const dashscopeFields = {
  apiKey: secret('API key', { help: 'Model Studio console > API key; it belongs to one region' }),
  region: regionField({
    singapore: 'Singapore',
    beijing: 'Beijing',
    virginia: 'Virginia',
    workspace: 'Address of a workspace in Singapore',
  }),
  workspaceId: text('Workspace ID', {
    required: false,
    validation: '[A-Za-z0-9-]{1,63}',
    help: 'Only for the address of a workspace',
  }),
};

/** The part of the declaration that both brands of Model Studio share. */
export const dashscope = {
  authType: 'api_key',
  credentials: dashscopeFields,
  api: 'https://dashscope-intl.aliyuncs.com/api/v1',
  regions: {
    beijing: 'https://dashscope.aliyuncs.com/api/v1',
    virginia: 'https://dashscope-us.aliyuncs.com/api/v1',
    workspace: 'https://{workspaceId}.ap-southeast-1.maas.aliyuncs.com/api/v1',
  },
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: shaped({ code: z.string().regex(/^Arrearage$|FreeTierOnly/) }, 'exhausted'),
  /** The state of a task that is not there: refused without a key, and free. */
  async check({ http }) {
    await http.get('/tasks/00000000-0000-4000-8000-000000000000', z.object({ request_id: z.string() }));
    return 'The key is accepted';
  },
} as const satisfies Partial<MediaSpec<typeof dashscopeFields>>;

const ASYNC = { 'x-dashscope-async': 'enable' };
const FAILED = {
  error: ['output.code', 'output.message'],
  failures: [
    [/DataInspectionFailed|InvalidParameter/, 'rejected'],
    [/Arrearage|FreeTierOnly/, 'exhausted'],
    [/Throttling/, 'rate_limited'],
  ],
} as const satisfies Partial<Job>;

/** A task whose question answers 200 also when it failed. */
export const dashscopeTask = (
  path: string,
  outputs: Job['outputs'],
  bodyOf: (request: JobRequest) => { input: object; parameters: object },
): Job => ({
  ...FAILED,
  submit: (request) => ({ path, json: { model: request.model, ...bodyOf(request) }, headers: ASYNC }),
  id: 'output.task_id',
  poll: '/tasks/{id}',
  status: 'output.task_status',
  states: { UNKNOWN: 'failed' },
  outputs,
  usage: { seconds: { at: ['usage.output_video_duration', 'usage.duration'] }, images: { at: 'usage.image_count' } },
});

const GENERATION = '/services/aigc/multimodal-generation/generation';
/** A size as it is written here. */
export const pixels = (size: string | undefined) => size?.replace('x', '*');

/** Pictures in one call, from a text and pictures, which come first. */
export const dashscopePictures: Job = {
  submit: asJson(GENERATION, ({ model, prompt, size, count = 1, images }) => ({
    model,
    input: { messages: [{ role: 'user', content: [...images.map((image) => ({ image })), { text: prompt }] }] },
    parameters: { size: pixels(size), n: count, watermark: false },
  })),
  outputs: 'output.choices.*.message.content.*.image',
  usage: { images: { at: 'usage.image_count' } },
};

/** The languages of speech by their codes; it finds the language itself where none is named. */
export const SPEECH_LANGUAGES: Readonly<Record<string, string>> = {
  zh: 'Chinese',
  en: 'English',
  de: 'German',
  it: 'Italian',
  pt: 'Portuguese',
  es: 'Spanish',
  ja: 'Japanese',
  ko: 'Korean',
  fr: 'French',
  ru: 'Russian',
};
/** Speech in one call. */
export const dashscopeSpeech: Job = {
  submit: asJson(GENERATION, ({ model, prompt, voice, language }) => ({
    model,
    input: { text: prompt, voice, language_type: language && SPEECH_LANGUAGES[language] },
  })),
  outputs: 'output.audio.url',
  usage: { characters: { at: 'usage.characters' } },
};
