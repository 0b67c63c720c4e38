import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { storage } from './_contract.ts';
import { openLocker } from './_locker.ts';

/** A REST API that answers signed addresses; every upload must be confirmed. */
export default storage({
  id: 'medialocker',
  version: 'v1',
  status: 'active',
  title: 'MediaLocker',
  description: 'Media-library storage; its REST API hands out signed addresses.',
  website: 'https://medialocker.io',
  setupNotes:
    'The key needs the scopes read, write and delete, and expires after 90 days unless it was made for longer. Its S3 endpoint is retired.',
  authType: 'api_key',
  credentials: {
    apiKey: secret('Secret access key', {
      validation: '[0-9a-f]{64}',
      help: '64 hexadecimal characters, shown once; not the access key id that begins with ml_',
    }),
    bucketId: text('Bucket id', { validation: '[0-9a-fA-F-]{36}', place: true, help: 'The UUID of the bucket' }),
    baseUrl: text('API address', {
      default: 'https://api.medialocker.io',
      form: 'origin',
      help: 'Of your own instance, where you run one',
    }),
  },
  owners: ['instance', 'org'],
  api: '{baseUrl}/api',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: z
    .object({ error: z.object({ code: z.literal('InsufficientStorage') }) })
    .transform(() => 'exhausted' as const), // with status 409
  can: ['direct'],
  connect: openLocker,
});
