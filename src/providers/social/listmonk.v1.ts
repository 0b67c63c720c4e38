import { secret, text } from '../kit/declare/fields.ts';
import { NUMBER_ID } from './_bounds.ts';
import { social } from './_contract.ts';
import { campaigns, IMAGE_TYPES, Settings } from './_listmonk-campaigns.ts';
import { listmonkReading } from './_listmonk-reading.ts';

/** https://listmonk.app/docs/apis/campaigns/ */
export default social({
  id: 'listmonk',
  version: 'v1',
  status: 'active',
  title: 'listmonk',
  description: 'Email campaigns to the lists of a listmonk server of your own.',
  website: 'https://listmonk.app',
  authType: 'basic',
  setupNotes:
    'Make an API user at Admin > Users, whose role may read lists and templates, manage and send campaigns, and upload media. Mails that were sent cannot be called back.',
  credentials: {
    url: text('Server URL', { form: 'origin', help: 'The address of your server, for example https://news.example' }),
    username: text('API user'),
    password: secret('API token'),
  },
  api: '{url}/api',
  auth: { in: 'basic', user: { field: 'username' }, password: { field: 'password' } },
  errors: { 403: 'reauthorize' }, // also where the token or its role has changed
  login: { kind: 'credentials' },
  once: 'two-phase',
  threads: 'none',
  editor: 'html',
  limits: { text: 100_000, unit: 'characters', media: 20, mediaTypes: IMAGE_TYPES },
  releaseIds: NUMBER_ID,
  settings: Settings,
  ...campaigns,
  ...listmonkReading,
});
