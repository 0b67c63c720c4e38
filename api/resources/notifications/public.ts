import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { PublicNotificationsPage, presentPublicNotifications } from './shape.ts';

const route = routesOf('notifications');

const LIMIT = 100;

export default [
  route({
    method: 'get',
    path: '/public/v1/notifications',
    summary: 'List notifications',
    description: 'Those of the owner of the credential in this organization, newest first; pages count from 0.',
    auth: ['api-key', 'oauth'],
    query: z.object({ page: z.coerce.number().int().min(0).max(10_000).default(0) }),
    answer: PublicNotificationsPage,
    async handle({ rooms, principal: { orgId, userId }, query: { page } }) {
      const found = await rooms.notifications.listNotifications({ orgId, userId }, { page, limit: LIMIT });
      return { ...found, page, limit: LIMIT };
    },
    present: presentPublicNotifications,
  }),
];
