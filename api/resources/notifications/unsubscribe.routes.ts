import { z } from 'zod';
import { unsubscribePage } from '../../console/pages.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('notifications');

const query = z.object({ token: z.string().min(1).max(4_096) });

export default [
  route({
    method: 'get',
    path: '/notifications/unsubscribe',
    summary: 'Get the page that ends mails of a kind',
    description: 'It has one button. Opening it changes nothing, as programs that check mails open every link.',
    auth: ['none'],
    limit: '60/minute',
    query,
    output: 'text',
    answer: z.string(),
    async handle({ rooms, query: { token }, reply }) {
      await rooms.notifications.checkUnsubscribe(token);
      return unsubscribePage(reply, 'asks');
    },
    present: (page) => page,
  }),

  route({
    method: 'post',
    path: '/notifications/unsubscribe',
    summary: 'End mails of a kind (RFC 8058)',
    description: 'By the token of such a mail, without a login, and as often as it is asked for.',
    auth: ['none'],
    limit: '60/minute',
    query,
    input: 'stream', // a form of either kind, which says nothing that the token does not
    answer: z.strictObject({ success: z.literal(true) }),
    async page({ rooms, query: { token }, request, reply }) {
      request.stream.resume();
      await rooms.notifications.unsubscribe(token);
      return unsubscribePage(reply, 'done');
    },
    async handle({ rooms, query: { token }, request }) {
      request.stream.resume();
      await rooms.notifications.unsubscribe(token);
    },
    present: () => ({ success: true as const }),
  }),
];
