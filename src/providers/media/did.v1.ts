import { secret } from '../kit/declare/fields.ts';
import { fetchedFiles, media, type MediaRequest } from './_contract.ts';
import type { Job } from './_job.ts';
import { jobPoll, publicUrls } from './_job-poll.ts';
import { creditsAt } from './_key-checks.ts';

/** The spoken part: a text in a voice, or a recording. */
function scriptOf({ prompt, voice, sources }: MediaRequest) {
  const [recording] = publicUrls(sources).audio;
  if (recording !== undefined) return { type: 'audio', audio_url: recording };
  return {
    type: 'text',
    input: prompt,
    ...(voice !== undefined && { provider: { type: 'microsoft', voice_id: voice } }),
  };
}

const job = (path: string, speakerOf: (request: MediaRequest) => object): Job => ({
  submit: (request) => ({ path, json: { ...speakerOf(request), script: scriptOf(request), name: request.key } }),
  poll: `${path}/{id}`,
  outputs: 'result_url',
  error: ['error.kind', 'error.description'],
  failures: [
    [/Moderation|celebrity/i, 'rejected'],
    [/InsufficientCredits/, 'exhausted'],
  ],
  usage: { seconds: { at: 'duration' } },
  callback: { in: 'json', name: 'webhook' },
});

/** https://docs.d-id.com/reference */
export default media({
  id: 'did',
  version: 'v1',
  title: 'D-ID',
  description: 'Talking videos of a photo, a presenter or an expressive avatar.',
  website: 'https://www.d-id.com',
  status: 'active',
  authType: 'basic',
  setupNotes: 'Videos of the trial have a watermark.',
  credentials: { apiKey: secret('API key', { help: 'studio.d-id.com > Settings > API key, as it is shown there' }) },
  api: 'https://api.d-id.com',
  auth: { in: 'header', name: 'authorization', prefix: 'Basic ', field: 'apiKey' },
  models: [],
  actions: {
    avatar: {
      prompt: 'optional',
      voices: 'any',
      sources: fetchedFiles(0, 2, 'image', 'audio'),
      options: {
        presenter: { label: 'Presenter', tool: 'presenters' },
        avatar: { label: 'Expressive avatar', tool: 'avatars' },
      },
      anyOf: [
        ['prompt', 'audio'],
        ['image', 'options.presenter', 'options.avatar'],
      ],
    },
  },
  rhythm: { everyMs: 3_000, mostMs: 1_800_000 },
  connect: jobPoll({
    choose: ({ options }) => (options?.['avatar'] ? 'expressive' : options?.['presenter'] ? 'clip' : 'talk'),
    jobs: {
      talk: job('/talks', ({ sources }) => ({ source_url: publicUrls(sources).image[0] })),
      clip: job('/clips', ({ options }) => ({ presenter_id: options!['presenter'] })),
      expressive: job('/expressives', ({ options }) => ({ avatar_id: options!['avatar'] })),
    },
    tools: {
      presenters: { path: '/clips/presenters', list: 'presenters', id: 'presenter_id', label: 'name' },
      avatars: { path: '/expressives/avatars', list: 'avatars', id: 'id', label: 'name' },
      voices: { path: '/tts/voices', list: 'voices', id: 'id', label: 'name' },
    },
  }),
  check: creditsAt('/credits', 'remaining'),
});
