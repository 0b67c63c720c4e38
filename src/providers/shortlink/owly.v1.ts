import { shortlink } from './_contract.ts';

export default shortlink({
  id: 'owly',
  version: 'v1',
  title: 'Ow.ly (Hootsuite)',
  description: 'The short links of Hootsuite.',
  website: 'https://www.hootsuite.com',
  status: 'preview',
  authType: 'api_key',
  setupNotes:
    'Hootsuite gives out no more keys for Ow.ly, and its old interface is not encrypted: its links cannot be made from here.',
  credentials: {},
  api: '',
  facts: { defaultDomain: 'ow.ly' },
});
