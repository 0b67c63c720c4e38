import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'digitalocean_spaces',
  title: 'DigitalOcean Spaces',
  description: 'S3-compatible storage with a built-in CDN.',
  website: 'https://www.digitalocean.com/products/spaces',
  endpoint: 'https://{region}.digitaloceanspaces.com',
  publicAt: 'https://{bucket}.{region}.digitaloceanspaces.com',
  fields: { region: label('Region', { help: 'Slug of the data centre, for example fra1' }) },
  quirks: { acl: true, virtualHost: true, signingRegion: 'us-east-1' },
});
