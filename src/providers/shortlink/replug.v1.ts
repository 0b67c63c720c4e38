import { shortlink } from './_contract.ts';

export default shortlink({
  id: 'replug',
  version: 'v1',
  title: 'Replug',
  description: 'Branded links with a call to action.',
  website: 'https://replug.io',
  status: 'preview',
  authType: 'api_key',
  setupNotes: 'Replug has not published how programs talk to it: its links cannot be made from here yet.',
  credentials: {},
  api: '',
});
