import { z } from 'zod';
import { parse } from '../../../src/platform/kernel/index.ts';
import { cursorOf, listBriefly } from '../../resources/posts/handlers.ts';
import { Listed, presentListed } from '../../resources/posts/listed.ts';
import { Range } from '../../resources/posts/shape.ts';
import { cursor, fitting, nextCursor } from '../pages.ts';
import { asCall, toolsOf } from '../tool.ts';

const day = (what: string) =>
  z.string().max(100).optional().describe(`${what} of the range, in UTC, such as 2026-09-01T00:00:00Z.`);

export const listPostsTool = toolsOf(
  'clock',
  'posts',
)({
  name: 'list_posts',
  alias: 'postsListTool',
  title: 'List posts by date',
  description: 'Lists posts of a range of dates; without dates from 30 days back to 30 days ahead.',
  readAt: {
    template: 'rookery://calendar/{month}',
    name: 'calendar-month',
    title: 'Month of the calendar',
    description: 'The posts of a month such as 2026-09, in UTC.',
  },
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({
    startDate: day('Start'),
    endDate: day('End'),
    customer: z.string().max(255).optional().describe('Only posts of channels of this group, an id of `list_groups`.'),
    cursor,
  }),
  output: z.strictObject({ output: z.strictObject({ posts: z.array(Listed) }), nextCursor }),
  untrusted: ['/output/posts/*/integrationName'],
  async run(call) {
    const query = parse(Range, { ...call.input, limit: '100' }); // most answers are full before
    const { posts, nextCursor: next = null } = await listBriefly(asCall(call, { query }));
    const shown = posts.map(presentListed);
    const fit = fitting(shown);
    const isCut = fit < shown.length;
    return { output: { posts: shown.slice(0, fit) }, nextCursor: isCut ? cursorOf(posts[fit - 1]!) : next };
  },
});
