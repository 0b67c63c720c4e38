import { text } from '../kit/declare/fields.ts';
import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 's3_compatible',
  title: 'S3-compatible (custom endpoint)',
  description: 'Any server that speaks the S3 API.',
  endpoint: '{endpoint}',
  fields: {
    endpoint: text('Endpoint', { form: 'url', placeholder: 'https://s3.example.com' }),
    region: label('Region', {
      default: 'us-east-1',
      place: false,
      help: 'What requests are signed for; us-east-1 where the server has no regions',
    }),
    forcePathStyle: text('Bucket in the path', {
      default: 'true',
      options: [
        { value: 'true', label: 'Yes: https://s3.example.com/bucket' },
        { value: 'false', label: 'No: https://bucket.s3.example.com' },
      ],
    }),
  },
  quirks: { acl: true },
});
