import { secret } from '../kit/declare/fields.ts';
import { NUMBER_ID } from './_bounds.ts';
import { social } from './_contract.ts';
import { devtoArticles, Settings } from './_devto-articles.ts';
import { devtoReading } from './_devto-reading.ts';

/** https://developers.forem.com/api/v1 */
export default social({
  id: 'devto',
  version: 'v1',
  status: 'active',
  title: 'DEV',
  description: 'Articles in markdown on DEV.',
  website: 'https://dev.to',
  authType: 'api_key',
  setupNotes:
    'Make an API key at DEV under Settings > Extensions. Articles cannot be deleted: they are unpublished. DEV keeps no copy of pictures and covers: articles show them from this server or its storage. One of the two needs a public address: the signed addresses of a private storage end after 6 hours, and the pictures with them.',
  credentials: { apiKey: secret('API key') },
  api: 'https://dev.to/api',
  auth: [
    { in: 'header', name: 'api-key', field: 'apiKey' },
    { in: 'header', name: 'accept', text: 'application/vnd.forem.api-v1+json' },
  ],
  login: { kind: 'credentials' },
  once: 'read-back',
  threads: 'none',
  editor: 'markdown',
  limits: { text: 100_000, unit: 'characters', media: 20, mediaTypes: ['image/*'], fetches: ['image'] },
  releaseIds: NUMBER_ID,
  settings: Settings,
  ...devtoArticles,
  ...devtoReading,
});
