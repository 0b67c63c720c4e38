import { shortlink } from './_contract.ts';

export default shortlink({
  id: 'lnkify',
  version: 'v1',
  title: 'Lnkify',
  description: 'A link manager that can be run on a server of your own.',
  status: 'preview',
  authType: 'api_key',
  setupNotes: 'Lnkify has not published how programs talk to it: its links cannot be made from here yet.',
  credentials: {},
  api: '',
});
