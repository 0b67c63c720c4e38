import { keyIn, listAt } from './_account.ts';
import { fetchedFiles, media } from './_contract.ts';
import { valuesAt } from './_job-answers.ts';
import { inList } from './_job-find.ts';
import { asJson, jobPoll } from './_job-poll.ts';

/** https://docs.tavus.io */
export default media({
  id: 'tavus',
  version: 'v1',
  title: 'Tavus',
  description: 'Videos of trained human replicas.',
  website: 'https://www.tavus.io',
  status: 'active',
  ...keyIn({ name: 'x-api-key' }, 'platform.tavus.io > API keys'),
  api: 'https://tavusapi.com',
  actions: {
    avatar: {
      prompt: 'optional',
      sources: fetchedFiles(0, 1, 'audio'),
      options: { replica: { label: 'Replica', required: true, tool: 'replicas' } },
      anyOf: [['prompt', 'audio']],
    },
  },
  rhythm: { everyMs: 10_000, mostMs: 7_200_000 },
  connect: jobPoll(
    {
      avatar: {
        submit: asJson('/v2/videos', ({ key, prompt, options, sounds: [audio_url] }) => ({
          replica_id: options!['replica'],
          ...(audio_url === undefined ? { script: prompt } : { audio_url }),
          video_name: key,
        })),
        id: 'video_id',
        poll: '/v2/videos/{id}',
        states: { deleted: 'canceled' },
        outputs: 'download_url',
        error: ['status_details', 'error_details'],
        failures: [[/policy|moderation|not allowed/i, 'rejected']],
        callback: { in: 'json', name: 'callback_url' },
        find: inList('/v2/videos?limit=100', 'data', (entry, { key }) => valuesAt(entry, 'video_name')[0] === key),
      },
    },
    {
      tools: {
        replicas: {
          path: '/v2/replicas',
          query: { limit: '100' },
          list: 'data',
          id: 'replica_id',
          label: 'replica_name',
        },
      },
    },
  ),
  check: listAt('/v2/replicas?limit=1', 'data'),
});
