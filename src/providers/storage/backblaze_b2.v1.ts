import { label, s3Compatible } from './_s3.ts';

/** https://www.backblaze.com/apidocs/s3-delete-objects; checksum headers are refused, Content-MD5 is not. */
export default s3Compatible({
  id: 'backblaze_b2',
  title: 'Backblaze B2',
  description: 'Low-cost object storage with an S3-compatible API.',
  website: 'https://www.backblaze.com/cloud-storage',
  setupNotes:
    'Create an application key for the bucket: the master key does not work here. What is deleted is kept as a hidden version until a lifecycle rule removes it.',
  endpoint: 'https://s3.{region}.backblazeb2.com',
  publicAt: 'https://{bucket}.s3.{region}.backblazeb2.com',
  fields: { region: label('Region', { help: "From the bucket's endpoint, for example us-west-004" }) },
});
