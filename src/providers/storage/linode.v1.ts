import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'linode',
  title: 'Akamai / Linode Object Storage',
  description: 'S3-compatible storage in Linode regions.',
  website: 'https://www.linode.com/products/object-storage/',
  setupNotes: 'Newer endpoints (E2, E3) may refuse objects with a visibility of their own: keep it private there.',
  endpoint: 'https://{region}.linodeobjects.com',
  publicAt: 'https://{bucket}.{region}.linodeobjects.com',
  fields: { region: label('Endpoint', { help: 'The label in front of .linodeobjects.com, for example us-iad-10' }) },
  quirks: { acl: true },
});
