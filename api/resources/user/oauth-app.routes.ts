import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { nameText } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';
import { App, NewApp, presentApp, presentNewApp } from './oauth-app.shape.ts';

const route = routesOf('config', 'oauth');

const fields = {
  description: z.string().max(500),
  pictureId: z.string().nullable(),
  redirectUrl: z.string().min(1).max(2_048),
};

export default [
  route({
    method: 'get',
    path: '/user/oauth-app',
    summary: 'Get the OAuth app',
    description: '`null` when there is none.',
    auth: ['session'],
    permission: 'oauth_apps:manage',
    answer: App.nullable(),
    handle: async ({ rooms, principal }) => ({
      app: await rooms.oauth.apps.find(principal.orgId),
      backendUrl: rooms.config.http.backendUrl,
    }),
    present: ({ app, backendUrl }) => (app ? presentApp(app, backendUrl) : null),
  }),

  route({
    method: 'post',
    path: '/user/oauth-app',
    summary: 'Create the OAuth app',
    description: 'One for each organization. Its secret is shown in this answer only.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'oauth_apps:manage',
    creates: true,
    body: z.strictObject({
      name: nameText(1, 100),
      description: fields.description.default(''),
      pictureId: fields.pictureId.default(null),
      redirectUrl: fields.redirectUrl,
    }),
    answer: NewApp,
    handle: (call) => call.rooms.oauth.apps.create(call.principal.orgId, auditActor(call), call.body),
    present: ({ app, clientSecret }) => presentNewApp(app, clientSecret),
  }),

  route({
    method: 'put',
    path: '/user/oauth-app',
    summary: 'Change the OAuth app',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'oauth_apps:manage',
    body: z.strictObject({ name: nameText(1, 100), ...fields }).partial(),
    answer: App,
    handle: async (call) => ({
      app: await call.rooms.oauth.apps.update(call.principal.orgId, auditActor(call), call.body),
      backendUrl: call.rooms.config.http.backendUrl,
    }),
    present: ({ app, backendUrl }) => presentApp(app, backendUrl),
  }),

  route({
    method: 'post',
    path: '/user/oauth-app/rotate-secret',
    summary: 'Rotate the secret of the OAuth app',
    description: 'The new one is shown in this answer only; the old one stops working at once.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'oauth_apps:manage',
    answer: z.object({ clientSecret: z.string() }),
    handle: (call) => call.rooms.oauth.apps.rotateSecret(call.principal.orgId, auditActor(call)),
    present: (clientSecret) => ({ clientSecret }),
  }),

  route({
    method: 'delete',
    path: '/user/oauth-app',
    summary: 'Delete the OAuth app',
    description: 'Every authorization of it is revoked.',
    auth: ['session'],
    permission: 'oauth_apps:manage',
    answer: z.object({ success: z.literal(true) }),
    handle: (call) => call.rooms.oauth.apps.remove(call.principal.orgId, auditActor(call)),
    present: () => ({ success: true as const }),
  }),
];
