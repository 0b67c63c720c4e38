import { z } from 'zod';
import { PUSH_PLATFORMS } from '../../../src/delivery/push/index.ts';
import { nameText } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('push');

const Token = z.string().trim().min(1).max(4_096);

export default [
  route({
    method: 'post',
    path: '/notifications/push-tokens',
    summary: 'Register a device for pushes',
    description:
      'Until its session ends. `token` is a registration token of Firebase or, for a browser, the JSON of its `PushSubscription`. Of more than 20 devices the one that was registered first is forgotten.',
    auth: ['session'],
    creates: true,
    body: z.strictObject({ token: Token, platform: z.enum(PUSH_PLATFORMS), deviceName: nameText(1, 200).optional() }),
    answer: z.strictObject({
      id: z.string(),
      token: z.string(),
      platform: z.enum(PUSH_PLATFORMS),
      deviceName: z.string().nullable(),
    }),
    handle: ({ rooms, principal: { userId, sessionId }, body }) =>
      rooms.push.registerDevice({ userId, sessionId: sessionId! }, body), // a session has its id
    present: (device) => device,
  }),

  route({
    method: 'delete',
    path: '/notifications/push-tokens',
    summary: 'Remove a device from pushes',
    auth: ['session'],
    body: z.strictObject({ token: Token }),
    answer: z.strictObject({ success: z.literal(true) }),
    handle: ({ rooms, principal, body }) => rooms.push.removeDevice(principal.userId, body.token),
    present: () => ({ success: true as const }),
  }),
];
