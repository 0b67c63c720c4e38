import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'scaleway',
  title: 'Scaleway Object Storage',
  description: 'European S3-compatible storage.',
  website: 'https://www.scaleway.com/en/object-storage/',
  setupNotes: 'An API key has a preferred project: buckets of another one refuse it.',
  endpoint: 'https://s3.{region}.scw.cloud',
  publicAt: 'https://{bucket}.s3.{region}.scw.cloud',
  fields: { region: label('Region', { help: 'fr-par, nl-ams or pl-waw' }) },
  quirks: { acl: true, virtualHost: true, mostParts: 1_000 },
});
