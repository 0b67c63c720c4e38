import { z } from 'zod';
import { Numbers, presentNumbers } from '../../resources/analytics/shape.ts';
import { daysBack, postId, WEEK } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const getPostAnalyticsTool = toolsOf('analytics')({
  name: 'get_post_analytics',
  title: 'Get the numbers of a post',
  description:
    'Answers the totals of a post at the end of each of the last whole days, UTC, by metric. `missing`: its release at the network is not known.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'analytics:read',
  input: z.strictObject({ id: postId, date: daysBack }),
  output: z.strictObject({ output: Numbers, missing: z.boolean() }),
  async run({ rooms, principal: { orgId }, input: { id, date = WEEK } }) {
    const series = await rooms.analytics.getPostNumbers(orgId, id, date);
    return { output: presentNumbers(series ?? []), missing: series === undefined };
  },
});
