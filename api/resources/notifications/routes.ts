import { z } from 'zod';
import { BROADCAST_CHANNELS, type LiveEvent } from '../../../src/people/notifications/index.ts';
import { instant } from '../../http/fields.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { routesOf } from '../../http/route.ts';
import type { ServerEvent } from '../../http/server-events.ts';
import { listRoute } from './handlers.ts';
import { presentNotification } from './shape.ts';

const route = routesOf('notifications');

const line = (max: number) => z.string().trim().normalize('NFC').min(1).max(max);
const Broadcast = z.strictObject({
  title: line(120),
  content: line(2_000),
  link: z
    .string()
    .max(500)
    .regex(/^\/(?![/\\])[\x21-\x7e]*$/, 'must be a path of the console, such as /calendar')
    .nullish(),
  target: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('all') }),
    z.strictObject({ type: z.literal('roles'), roles: z.array(z.string().max(64)).min(1).max(100) }),
    z.strictObject({ type: z.literal('users'), userIds: z.array(z.string().max(64)).min(1).max(1_000) }),
  ]),
  channels: z.array(z.enum(BROADCAST_CHANNELS)).min(1).max(3),
});

/** What `EventSource` hears. */
function serverEventOf(live: LiveEvent): ServerEvent {
  if (live.kind === 'alive') return { comment: 'nothing new' };
  const { kind: event, id } = live;
  return { event, id, data: live.kind === 'count' ? { total: live.total } : presentNotification(live.row) };
}

export default [
  route({
    method: 'get',
    path: '/notifications',
    summary: 'Count unread notifications',
    description: 'Those of the caller in this organization.',
    auth: ['session'],
    answer: z.strictObject({ total: z.int() }),
    handle: ({ rooms, principal: { orgId, userId } }) => rooms.notifications.countUnread({ orgId, userId }),
    present: (total) => ({ total }),
  }),

  listRoute('/notifications/list', ['session']),

  route({
    method: 'get',
    path: '/notifications/stream',
    summary: 'Get new notifications as server-sent events',
    description:
      'Of the caller in this organization: `notification` for each new one, `count` with the unread ones when their number changes. `Last-Event-ID` brings what came meanwhile, the newest 100. At most five streams of a person are open at a time. A stream ends within a minute after its session or membership. `Accept: application/json` answers the number alone.',
    auth: ['session'],
    impersonation: 'refused', // it lasts as long as the session of the reader
    limit: '60/minute',
    limitBy: 'person',
    isStream: true,
    answer: z.strictObject({ total: z.int() }),
    handle: ({ rooms, principal: { orgId, userId } }) => rooms.notifications.countUnread({ orgId, userId }),
    present: (total) => ({ total }),
    async *events({ rooms, principal: { orgId, userId, sessionId }, request }, gone) {
      const reader = { orgId, userId, sessionId: sessionId! }; // a session has its id
      const ends = AbortSignal.any([gone, request.ending]);
      for await (const live of rooms.notifications.followNotifications(reader, request.headers['last-event-id'], ends))
        yield serverEventOf(live);
    },
  }),

  route({
    method: 'patch',
    path: '/notifications/:id/read',
    summary: 'Set a notification to read',
    auth: ['session'],
    answer: z.strictObject({ id: z.string(), readAt: instant }),
    async handle({ rooms, principal: { orgId, userId }, params: { id } }) {
      return { id, readAt: await rooms.notifications.readNotification({ orgId, userId }, id) };
    },
    present: ({ id, readAt }) => ({ id, readAt: readAt.toISOString() }),
  }),

  route({
    method: 'post',
    path: '/notifications/read-all',
    summary: 'Set all notifications to read',
    description: 'Those of the caller in this organization.',
    auth: ['session'],
    answer: z.strictObject({ updated: z.int(), lastReadNotifications: instant }),
    handle: ({ rooms, principal: { orgId, userId } }) => rooms.notifications.readAllNotifications({ orgId, userId }),
    present: ({ updated, lastRead }) => ({ updated, lastReadNotifications: lastRead.toISOString() }),
  }),

  route({
    method: 'delete',
    path: '/notifications/:id',
    summary: 'Delete a notification',
    auth: ['session'],
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, principal: { orgId, userId }, params: { id } }) {
      await rooms.notifications.removeNotification({ orgId, userId }, id);
      return id;
    },
    present: (id) => ({ id }),
  }),

  route({
    method: 'post',
    path: '/notifications/broadcast',
    summary: 'Send a notification to members',
    description:
      'To all, to roles or to users, whatever they chose for announcements; what they turned off entirely stays off. Whoever is no member is left out and not counted.',
    auth: ['session'],
    permission: 'notifications:manage',
    idempotent: true,
    body: Broadcast,
    answer: z.strictObject({ recipients: z.int(), channels: z.array(z.enum(BROADCAST_CHANNELS)) }),
    async handle({ rooms, principal, body, idempotency }) {
      const channels = BROADCAST_CHANNELS.filter((channel) => body.channels.includes(channel));
      const answerOf = (recipients: number) => ({ recipients, channels });
      const kept = keptAnswer(idempotency, 200, answerOf);
      return answerOf(await rooms.notifications.broadcast(principal.orgId, body, kept));
    },
    present: (answer) => answer,
  }),
];
