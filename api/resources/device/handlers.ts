import { z } from 'zod';
import { device } from '../../http/credentials.ts';
import { sessionActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { throttleBy } from '../../http/throttle.ts';
import { DeviceAuthorization, presentDevice, presentWaitingDevice, WaitingDevice } from './shape.ts';

const route = routesOf('cache', 'clock', 'config', 'oauth');

const MINUTE_MS = 60_000;
const GUESSES = 5;
const LIMIT = 16_000;

/** Device authorization (RFC 8628); `/device/*` and `/oauth/device/*` are the same routes. */
export const deviceRoutes = (prefix: '/device' | '/oauth/device') => [
  route({
    method: 'post',
    path: `${prefix}/code`,
    summary: 'Start a device authorization (RFC 8628)',
    description: 'A person types the short code in elsewhere.',
    auth: ['none'],
    limit: '10/minute',
    errors: 'oauth',
    input: 'json-or-form',
    bodyLimit: LIMIT,
    body: z.looseObject({}),
    answer: DeviceAuthorization,
    async handle({ rooms, request, reply }) {
      reply.header('Cache-Control', 'no-store');
      return { codes: await rooms.oauth.devices.start(device(request)), frontendUrl: rooms.config.http.frontendUrl };
    },
    present: ({ codes, frontendUrl }) => presentDevice(codes, frontendUrl),
  }),

  route({
    method: 'post',
    path: `${prefix}/token`,
    summary: 'Redeem a device code for an API key (RFC 8628)',
    description: 'Once, after its approval; until then the error says why not.',
    auth: ['none'],
    limit: '60/minute',
    errors: 'oauth',
    input: 'json-or-form',
    bodyLimit: LIMIT,
    body: z.looseObject({ device_code: z.string().min(1) }),
    answer: z.object({ access_token: z.string(), api_url: z.string(), organization_id: z.string() }),
    async handle({ rooms, body, request, reply }) {
      reply.header('Cache-Control', 'no-store');
      return {
        ...(await rooms.oauth.devices.redeem(body.device_code, request.ip)),
        apiUrl: rooms.config.http.backendUrl,
      };
    },
    present: ({ apiKey, apiUrl, orgId }) => ({ access_token: apiKey, api_url: apiUrl, organization_id: orgId }),
  }),

  route({
    method: 'post',
    path: `${prefix}/find`,
    summary: 'Get a waiting device (RFC 8628)',
    description: 'From where it asked for its code, and when: to be looked at before it is approved.',
    auth: ['session'],
    impersonation: 'refused',
    body: z.strictObject({ user_code: z.string().min(1).max(100) }),
    answer: WaitingDevice,
    async handle({ rooms, principal, body }) {
      await throttleBy(rooms, `device-find|user:${principal.userId}`, GUESSES, MINUTE_MS);
      return rooms.oauth.devices.find(body.user_code);
    },
    present: presentWaitingDevice,
  }),

  ...(['approve', 'deny'] as const).map((act) =>
    route({
      method: 'post',
      path: `${prefix}/${act}`,
      summary: act === 'approve' ? 'Approve a device (RFC 8628)' : 'Deny a device (RFC 8628)',
      description:
        act === 'approve'
          ? 'The device that shows this code gets an API key of the user in this organization.'
          : 'The device that shows this code gets no API key.',
      auth: ['session'],
      impersonation: 'refused',
      body: z.strictObject({ user_code: z.string().min(1).max(100) }),
      answer: z.object({ success: z.literal(true) }),
      async handle(call) {
        const { rooms, principal, body } = call;
        await throttleBy(rooms, `device|user:${principal.userId}`, GUESSES, MINUTE_MS);
        await rooms.oauth.devices.decide(
          principal.orgId,
          sessionActor(call),
          body.user_code,
          act === 'approve' ? 'approved' : 'denied',
        );
      },
      present: () => ({ success: true as const }),
    }),
  ),
];
