import { secret } from '../kit/declare/fields.ts';
import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 's3',
  title: 'Amazon S3',
  description: 'The original object store.',
  website: 'https://aws.amazon.com/s3/',
  setupNotes:
    'New buckets refuse objects with a visibility of their own: keep it private, or give the address of a domain or CloudFront in front of the bucket.',
  endpoint: 'https://s3.{region}.amazonaws.com',
  publicAt: 'https://{bucket}.s3.{region}.amazonaws.com',
  fields: {
    region: label('Region', { help: 'Region of the bucket, for example eu-central-1' }),
    sessionToken: secret('Session token', { required: false, help: 'For temporary credentials only' }),
  },
  quirks: {
    acl: true,
    virtualHost: true,
    partitions: true, // China and other partitions have hosts of their own
  },
});
