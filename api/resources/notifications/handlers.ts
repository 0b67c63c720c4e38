import { z } from 'zod';
import { type AuthKind, routesOf } from '../../http/route.ts';
import { NotificationsPage, presentNotifications } from './shape.ts';

const route = routesOf('notifications');

/** The list in both dialects: what the caller was told in the organization, newest first. */
export const listRoute = <Path extends `/${string}`>(path: Path, auth: readonly [AuthKind, ...AuthKind[]]) =>
  route({
    method: 'get',
    path,
    summary: 'List notifications',
    description: 'Those of the caller in this organization, newest first.',
    auth,
    query: z.object({
      page: z.coerce.number().int().min(0).max(10_000).default(0),
      limit: z.coerce.number().int().min(1).max(100).default(100),
      category: z.string().max(64).optional(),
      unread: z.stringbool().optional(),
    }),
    answer: NotificationsPage,
    async handle({ rooms, principal, query }) {
      const { orgId, userId } = principal;
      const { page, limit } = query;
      return { ...(await rooms.notifications.listNotifications({ orgId, userId }, query)), page, limit };
    },
    present: presentNotifications,
  });
