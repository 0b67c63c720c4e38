import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import type { MediaRequest, MediaSpec } from './_contract.ts';
import type { Job } from './_job.ts';
import { publicUrls } from './_job-poll.ts';
import { regionField } from './_region.ts';

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
  errorOf: z.object({ code: z.string().regex(/^Arrearage$|FreeTierOnly/) }).transform(() => 'exhausted' as const),
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
  bodyOf: (request: MediaRequest) => { input: object; parameters: object },
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

/** Pictures in one call, from a text and pictures, which come first. */
export const dashscopePictures: Job = {
  timeoutMs: 180_000,
  submit: ({ model, prompt, size, count, sources }) => ({
    path: '/services/aigc/multimodal-generation/generation',
    json: {
      model,
      input: {
        messages: [
          { role: 'user', content: [...publicUrls(sources).image.map((image) => ({ image })), { text: prompt }] },
        ],
      },
      parameters: { ...(size !== undefined && { size: size.replace('x', '*') }), n: count, watermark: false },
    },
  }),
  outputs: 'output.choices.*.message.content.*.image',
  usage: { images: { at: 'usage.image_count' } },
};
