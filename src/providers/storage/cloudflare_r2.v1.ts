import { text } from '../kit/declare/fields.ts';
import { label, s3Compatible } from './_s3.ts';

export default s3Compatible({
  id: 'cloudflare_r2',
  title: 'Cloudflare R2',
  description: 'S3-compatible storage without egress fees.',
  website: 'https://www.cloudflare.com/developer-platform/products/r2/',
  setupNotes:
    'Buckets have no public address of their own: connect a domain to the bucket and give it here, or networks get signed addresses.',
  endpoint: 'https://{accountId}.r2.cloudflarestorage.com',
  endpointFor: (base, { jurisdiction = 'default' }) =>
    jurisdiction === 'default' ? base : base.replace('.r2.', `.${jurisdiction}.r2.`),
  fields: {
    accountId: label('Account id', { help: 'Part of the host name of the bucket' }),
    jurisdiction: text('Jurisdiction', {
      default: 'default',
      place: true,
      options: [
        { value: 'default', label: 'None' },
        { value: 'eu', label: 'European Union' },
        { value: 'fedramp', label: 'FedRAMP' },
      ],
    }),
  },
  quirks: { signingRegion: 'auto' },
});
