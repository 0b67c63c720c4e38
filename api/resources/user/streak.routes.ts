import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('streaks');

/** Days in a row with a published post (S180). */
const StreakShape = z.strictObject({ current: z.int(), longest: z.int(), lastDate: z.string().nullable() });

export default [
  route({
    method: 'get',
    path: '/user/streak',
    summary: 'Get the streak of the organization',
    description:
      'Days in a row with at least one published post, in the zone of the organization; a day that is not over breaks none.',
    auth: ['session'],
    answer: StreakShape,
    handle: ({ rooms, principal }) => rooms.streaks.getStreak(principal.orgId),
    present: ({ current, longest, lastDate }) => ({ current, longest, lastDate }),
  }),
];
