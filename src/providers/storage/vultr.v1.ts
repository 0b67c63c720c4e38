import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'vultr',
  title: 'Vultr Object Storage',
  description: 'S3-compatible storage in Vultr regions.',
  website: 'https://www.vultr.com/products/object-storage/',
  setupNotes: 'The keys are those of one subscription, as is the host name.',
  endpoint: 'https://{region}.vultrobjects.com',
  publicAt: 'https://{bucket}.{region}.vultrobjects.com',
  fields: { region: label('Cluster', { help: 'The label in front of .vultrobjects.com, for example ewr1' }) },
  quirks: { acl: true, signingRegion: 'us-east-1' },
});
