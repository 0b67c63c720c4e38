import { s3Compatible } from './_s3.ts';

const MIB = 1024 * 1024;

export default s3Compatible({
  id: 'storj',
  title: 'Storj',
  description: 'Distributed storage behind a hosted S3 gateway.',
  website: 'https://www.storj.io',
  setupNotes:
    'Buckets have no public address: give the base of a shared link (link.storjshare.io/raw/…) or a domain of your own, or networks get signed addresses.',
  endpoint: 'https://gateway.storjshare.io',
  quirks: {
    signingRegion: 'us-east-1', // any is accepted
    partBytes: 64 * MIB, // its segment
  },
});
