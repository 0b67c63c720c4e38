import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('push');

export default [
  route({
    method: 'get',
    path: '/notifications/push-key',
    summary: 'Get the key for pushes to browsers',
    description:
      'As `applicationServerKey` of `PushManager.subscribe()`, base64url. Null: nothing is pushed to browsers here.',
    auth: ['session'],
    answer: z.strictObject({ publicKey: z.string().nullable() }),
    handle: async ({ rooms }) => rooms.push.publicKey ?? null,
    present: (publicKey) => ({ publicKey }),
  }),
];
