import { text } from '../kit/declare/fields.ts';
import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'idrive_e2',
  title: 'IDrive e2',
  description: 'S3-compatible storage with many regions.',
  website: 'https://www.idrive.com/s3-storage-e2/',
  setupNotes: 'Public access is switched on for each bucket in its console; the public address is shown there.',
  endpoint: '{endpoint}',
  fields: {
    endpoint: text('Endpoint', {
      form: 'origin',
      help: 'From the console, for example s3.us-west-1.idrivee2.com',
      placeholder: 's3.us-west-1.idrivee2.com',
    }),
    region: label('Region', {
      place: false,
      default: 'us-east-1',
      help: 'Region of the bucket, for example us-west-1',
    }),
  },
  quirks: { acl: true },
});
