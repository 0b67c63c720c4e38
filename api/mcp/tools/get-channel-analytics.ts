import { z } from 'zod';
import { Numbers, presentNumbers } from '../../resources/analytics/shape.ts';
import { channelId, daysBack, WEEK } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const getChannelAnalyticsTool = toolsOf('analytics')({
  name: 'get_channel_analytics',
  title: 'Get the numbers of a channel',
  description: 'Answers what a channel counted on each of the last whole days, UTC, by metric. Totals are strings.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'analytics:read',
  input: z.strictObject({ integrationId: channelId, date: daysBack }),
  output: z.strictObject({ output: Numbers }),
  run: async ({ rooms, principal: { orgId }, input: { integrationId, date = WEEK } }) => ({
    output: presentNumbers(await rooms.analytics.getChannelNumbers(orgId, integrationId, date)),
  }),
});
