import { z } from 'zod';
import { collect } from '../../http/body.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('email');

const BYTES = 2_000_000;

export default [
  route({
    method: 'post',
    path: '/webhooks/email',
    summary: 'Receive delivery events of the mail provider',
    description: 'Proved over the raw body. 404 where the provider, `smtp` or none, reports none.',
    auth: ['none'],
    limit: '6000/hour',
    limitBy: 'ip',
    input: 'stream',
    answer: z.strictObject({ received: z.literal(true) }),
    handle: async ({ rooms, request }) =>
      rooms.email.receive({ headers: request.headers, body: await collect(request.stream, BYTES) }),
    present: () => ({ received: true as const }),
  }),
];
