import { secret } from '../kit/declare/fields.ts';
import { social } from './_contract.ts';
import { failure, TYPES } from './_hashnode-api.ts';
import { hashnodeArticles, Settings } from './_hashnode-articles.ts';
import { hashnodeReading } from './_hashnode-reading.ts';

/** https://github.com/Hashnode/gql-skill */
export default social({
  id: 'hashnode',
  version: 'v1',
  status: 'active',
  title: 'Hashnode',
  description: 'Articles in markdown in a publication on Hashnode.',
  website: 'https://hashnode.com',
  authType: 'api_key',
  setupNotes:
    'The publication needs the paid plan Pro: without it Hashnode refuses every article. Make a personal access token under Account settings > Developer. Articles are deleted, and comments written, at Hashnode alone.',
  credentials: { apiKey: secret('Personal access token') },
  api: 'https://gql-beta.hashnode.com',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: failure,
  errorInside: failure,
  login: { kind: 'credentials' },
  once: 'two-phase',
  threads: 'none',
  editor: 'markdown',
  // a whole request holds at most 100 kB
  limits: { text: 90_000, unit: 'bytes', media: 20, mediaTypes: TYPES },
  settings: Settings,
  fileSettings: ['main_image'],
  ...hashnodeArticles,
  ...hashnodeReading,
});
