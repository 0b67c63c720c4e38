import { z } from 'zod';
import { type Metric, METRICS } from '../../../src/providers/registry/index.ts';
import { dateText } from '../../http/fields.ts';
import { type AuthKind, routesOf } from '../../http/route.ts';
import {
  daysText,
  HistoryAnswer,
  Numbers,
  PostNumbers,
  presentHistory,
  presentNumbers,
  presentPostNumbers,
} from './shape.ts';

const route = routesOf('analytics');

const METRIC_NAMES = Object.keys(METRICS) as [Metric, ...Metric[]]; // of the object itself
export const MetricName = z.enum(METRIC_NAMES);
export const Range = z.object({ from: dateText.optional(), to: dateText.optional() });
/** Whole days back from yesterday. */
const Days = z.object({ date: daysText.prefault('7') });
const HistoryQuery = Range.extend({ metric: MetricName.optional() });

type Auth = readonly [AuthKind, ...AuthKind[]];

/** The numbers of a channel and of a post, which both dialects tell alike. */
export const numbersRoutes = (prefix: '/analytics' | '/public/v1/analytics', auth: Auth) =>
  [
    route({
      method: 'get',
      path: `${prefix}/:integrationId`,
      summary: 'Get the numbers of a channel',
      description:
        'Of the last `date` whole days, UTC, as they were collected; the plan says how far back. Totals are strings.',
      auth,
      permission: 'analytics:read',
      query: Days,
      answer: Numbers,
      handle: ({ rooms, principal, params, query }) =>
        rooms.analytics.getChannelNumbers(principal.orgId, params.integrationId, query.date),
      present: presentNumbers,
    }),

    route({
      method: 'get',
      path: `${prefix}/post/:postId`,
      summary: 'Get the numbers of a post',
      description:
        'Its totals at the end of each of the last `date` whole days, UTC; `missing` where its release is not known.',
      auth,
      permission: 'analytics:read',
      query: Days,
      answer: PostNumbers,
      handle: ({ rooms, principal, params, query }) =>
        rooms.analytics.getPostNumbers(principal.orgId, params.postId, query.date),
      present: presentPostNumbers,
    }),
  ] as const;

/** The values of a channel by metric and date. */
export const historyRoute = (
  path: '/analytics/channels/:integrationId/history' | '/public/v1/analytics/:integrationId/history',
  auth: Auth,
) =>
  route({
    method: 'get',
    path,
    summary: 'Get the history of a channel',
    description:
      'Without a range of the last 30 whole days. With `interval=week` the weeks that the range touches are whole, from Monday to Sunday in UTC; that of today has the days until now. `gaps` are days that could not be read, with the reason; `derived` is what posts gained where the network does not tell it.',
    auth,
    permission: 'analytics:read',
    query: HistoryQuery.extend({ interval: z.enum(['day', 'week']).default('day') }),
    answer: HistoryAnswer,
    handle: ({ rooms, principal, params, query }) =>
      rooms.analytics.getHistory(principal.orgId, params.integrationId, query),
    present: presentHistory,
  });
