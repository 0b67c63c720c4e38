import { z } from 'zod';
import { Numbers, presentNumbers } from '../../resources/analytics/shape.ts';
import { daysBack, postId, WEEK } from '../fields.ts';
import { cursor, nextCursor, partOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

export const getPostAnalyticsTool = toolsOf('analytics')({
  name: 'get_post_analytics',
  title: 'Get the numbers of a post',
  description:
    'Answers the totals of a post at the end of each of the last whole days, UTC, by metric. `missing`: its release at the network is not known.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'analytics:read',
  input: z.strictObject({ id: postId, date: daysBack, cursor }),
  output: z.strictObject({ output: Numbers, missing: z.boolean(), nextCursor }),
  async run({ rooms, principal: { orgId }, input: { id, date = WEEK, cursor: from } }) {
    const series = await rooms.analytics.getPostNumbers(orgId, id, date);
    const { items, ...part } = partOf(presentNumbers(series ?? []), from);
    return { output: items, missing: series === undefined, ...part };
  },
});
