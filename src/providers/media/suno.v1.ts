import { text } from '../kit/declare/fields.ts';
import { bearerKey, codeAt, creditsAt } from './_account.ts';
import { alike, media, type Takes } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';

/** Codes inside a 200; 200 is a success, and further ones are faults of the request. */
const CODES = { reauthorize: [401], rate_limited: [405, 430], exhausted: [429], unavailable: [455, 500] };
const music: Takes = { promptLength: 3_000, options: { style: { label: 'Style' }, title: { label: 'Title' } } };

/** https://docs.sunoapi.org, one of the resellers: Suno itself has no public API. */
export default media({
  id: 'suno',
  version: 'v1',
  title: 'Suno',
  description: 'Songs with vocals from a brief.',
  website: 'https://suno.com',
  setupNotes:
    'Suno has no public API. This speaks the protocol of resellers, which is against the terms of Suno: ask for an offer of its partner programme instead.',
  ...bearerKey('The key of the reseller', {
    fields: {
      baseUrl: text('Base URL', {
        required: false,
        default: 'https://api.sunoapi.org',
        form: 'origin',
        help: 'The server of the reseller',
      }),
    },
  }),
  api: '{baseUrl}/api/v1',
  errorInside: codeAt('code', CODES, 200),
  models: alike({ music }, 'V5', 'V4_5PLUS'),
  rhythm: { everyMs: 15_000, mostMs: 1_800_000, keptMs: 14 * 86_400_000 },
  connect: jobPoll({
    music: {
      submit: asJson('/generate', ({ model, prompt, options: { style, title } = {} }) => ({
        model,
        prompt,
        customMode: style !== undefined,
        instrumental: false,
        style,
        title,
      })),
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
  }),
  check: creditsAt('/generate/credit', 'data'),
});
