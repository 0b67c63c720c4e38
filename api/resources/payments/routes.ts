import { z } from 'zod';
import { organizationActor } from '../../../actors/organization/contract.ts';
import { collect } from '../../http/body.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('payments');

const BYTES = 1_000_000;

export default [
  route({
    method: 'post',
    path: '/payments',
    summary: 'Receive an event of the payment processor',
    description: 'Signed over the raw body.',
    auth: ['none'],
    limit: '6000/hour',
    limitBy: 'ip',
    input: 'stream',
    answer: z.strictObject({ ok: z.literal(true), ignored: z.literal(true).optional() }),
    async handle({ rooms, actors, request }) {
      const received = await rooms.payments.receive(
        await collect(request.stream, BYTES),
        request.headers['stripe-signature'] ?? '',
      );
      // The rows carry it and a sweep finds them: the processor need not repeat its delivery for a reminder that was
      // not set.
      if (received.orgId)
        await actors(organizationActor, received.orgId)
          .scheduleTransition({})
          .catch(() => undefined);
      return received;
    },
    present: ({ ok, ignored }) => ({ ok, ...(ignored && { ignored }) }),
  }),
];
