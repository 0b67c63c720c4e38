import { z } from 'zod';
import { Numbers, presentNumbers } from '../../resources/analytics/shape.ts';
import { channelId, daysBack, WEEK } from '../fields.ts';
import { cursor, nextCursor, partOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

export const getChannelAnalyticsTool = toolsOf('analytics')({
  name: 'get_channel_analytics',
  title: 'Get the numbers of a channel',
  description: 'Answers what a channel counted on each of the last whole days, UTC, by metric. Totals are strings.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'analytics:read',
  input: z.strictObject({ integrationId: channelId, date: daysBack, cursor }),
  output: z.strictObject({ output: Numbers, nextCursor }),
  async run({ rooms, principal: { orgId }, input: { integrationId, date = WEEK, cursor: from } }) {
    const numbers = presentNumbers(await rooms.analytics.getChannelNumbers(orgId, integrationId, date));
    const { items, ...part } = partOf(numbers, from);
    return { output: items, ...part };
  },
});
