import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'hetzner',
  title: 'Hetzner Object Storage',
  description: 'S3-compatible storage in Germany and Finland.',
  website: 'https://www.hetzner.com/storage/object-storage/',
  endpoint: 'https://{region}.your-objectstorage.com',
  publicAt: 'https://{bucket}.{region}.your-objectstorage.com',
  fields: { region: label('Location', { help: 'fsn1, nbg1 or hel1' }) },
  quirks: { acl: true, virtualHost: true },
});
