import { z } from 'zod';
import type { Manifest } from '../kit/declare/adapter.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { media, type Takes } from './_contract.ts';
import { jobPoll } from './_job-poll.ts';
import { creditsAt } from './_key-checks.ts';

/** Codes inside a 200; 200 is a success, and further ones are faults of the request. */
const CODES: NonNullable<Manifest['errors']> = {
  401: 'reauthorize',
  405: 'rate_limited',
  429: 'exhausted',
  430: 'rate_limited',
  455: 'unavailable',
  500: 'unavailable',
};
const music: Takes = { promptLength: 3_000, options: { style: { label: 'Style' }, title: { label: 'Title' } } };

/** https://docs.sunoapi.org, one of the resellers: Suno itself has no public API. */
export default media({
  id: 'suno',
  version: 'v1',
  title: 'Suno',
  description: 'Songs with vocals from a brief.',
  website: 'https://suno.com',
  authType: 'api_key',
  setupNotes:
    'Suno has no public API. This speaks the protocol of resellers, which is against the terms of Suno: ask for an offer of its partner programme instead.',
  credentials: {
    apiKey: secret('API key', { help: 'The key of the reseller' }),
    baseUrl: text('Base URL', {
      required: false,
      default: 'https://api.sunoapi.org',
      form: 'origin',
      help: 'The server of the reseller',
    }),
  },
  api: '{baseUrl}/api/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorInside: z
    .object({ code: z.int().refine((code) => code !== 200) })
    .transform(({ code }) => CODES[code] ?? 'rejected'),
  models: [
    { id: 'V5', operations: { music } },
    { id: 'V4_5PLUS', operations: { music } },
  ],
  rhythm: { everyMs: 15_000, mostMs: 1_800_000, keptMs: 14 * 86_400_000 },
  connect: jobPoll({
    jobs: {
      music: {
        submit: ({ model, prompt, options }) => ({
          path: '/generate',
          json: {
            model,
            prompt,
            customMode: options?.['style'] !== undefined,
            instrumental: false,
            style: options?.['style'],
            title: options?.['title'],
          },
        }),
        id: 'data.taskId',
        poll: '/generate/record-info?taskId={id}',
        status: 'data.status',
        states: {
          TEXT_SUCCESS: 'running',
          FIRST_SUCCESS: 'running',
          CALLBACK_EXCEPTION: 'succeeded', // of our side alone: the songs are there
          CREATE_TASK_FAILED: 'failed',
          GENERATE_AUDIO_FAILED: 'failed',
          SENSITIVE_WORD_ERROR: 'rejected',
        },
        outputs: 'data.response.sunoData.*.audioUrl',
        error: ['data.errorMessage'],
        callback: { in: 'json', name: 'callBackUrl' },
      },
    },
  }),
  check: creditsAt('/generate/credit', 'data'),
});
