import { creditsAt, keyIn } from './_account.ts';
import { fetchedFiles, media } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import type { Job, JobRequest } from './_job.ts';

/** The spoken part: a text in a voice, or a recording. */
const scriptOf = ({ prompt, voice, sounds: [audio_url] }: JobRequest) =>
  audio_url === undefined
    ? { type: 'text', input: prompt, ...(voice !== undefined && { provider: { type: 'microsoft', voice_id: voice } }) }
    : { type: 'audio', audio_url };

const job = (path: string, speakerOf: (request: JobRequest) => object): Job => ({
  submit: asJson(path, (request) => ({ ...speakerOf(request), script: scriptOf(request) })),
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
  setupNotes: 'Videos of the trial have a watermark.',
  ...keyIn({ name: 'authorization', prefix: 'Basic ' }, 'studio.d-id.com > Settings > API key, as it is shown there'),
  authType: 'basic',
  api: 'https://api.d-id.com',
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
  connect: jobPoll(
    {
      talk: job('/talks', ({ images: [source_url] }) => ({ source_url })),
      clip: job('/clips', ({ options }) => ({ presenter_id: options!['presenter'] })),
      expressive: job('/expressives', ({ options }) => ({ avatar_id: options!['avatar'] })),
    },
    {
      choose: ({ options }) => (options?.['avatar'] ? 'expressive' : options?.['presenter'] ? 'clip' : 'talk'),

      tools: {
        presenters: { path: '/clips/presenters', list: 'presenters', id: 'presenter_id', label: 'name' },
        avatars: { path: '/expressives/avatars', list: 'avatars', id: 'id', label: 'name' },
        voices: { path: '/tts/voices', list: 'voices', id: 'id', label: 'name' },
      },
    },
  ),
  check: creditsAt('/credits', 'remaining'),
});
