import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'wasabi',
  title: 'Wasabi',
  description: 'S3-compatible hot storage.',
  website: 'https://wasabi.com',
  setupNotes:
    'Public objects have to be allowed for the account by its support: until then keep the visibility private.',
  endpoint: 'https://s3.{region}.wasabisys.com',
  publicAt: 'https://s3.{region}.wasabisys.com/{bucket}',
  fields: { region: label('Region', { help: 'Region of the bucket, for example eu-central-1' }) },
  quirks: { acl: true },
});
