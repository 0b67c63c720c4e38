import { z } from 'zod';
import { PreflightReport, presentPreflight } from '../../resources/posts/preflight.shape.ts';
import { admitBodies } from '../../resources/posts/handlers.ts';
import { bodiesOf, byAgents, refusalOfEntry, SocialPosts } from '../../resources/posts/agent-posts.ts';
import { toolsOf } from '../tool.ts';
import { judgeEntries, UNTRUSTED_OF_REPORT } from './preflight-post.ts';

export const createPostTool = toolsOf('posts')({
  name: 'create_post',
  alias: 'schedulePostTool',
  title: 'Create or schedule posts',
  description:
    'Creates a post for each entry: as a draft, for a date, or to be published now. All are created or none. Call `channel_schema` first, and `preflight_post` when in doubt.',
  surfaces: ['mcp'],
  scope: 'mcp:posts:write',
  permission: 'posts:create',
  input: SocialPosts.extend({
    dryRun: z.boolean().optional().describe('Only judge the posts, as `preflight_post` does, and create nothing.'),
  }),
  output: z.strictObject({
    output: z.array(z.strictObject({ postId: z.string(), integration: z.string() })),
    dryRun: PreflightReport.optional(),
  }),
  untrusted: UNTRUSTED_OF_REPORT.map((place) => `/dryRun${place}`),
  async run({ input: { dryRun = false, ...posts }, ...call }) {
    if (dryRun) return { output: [], dryRun: presentPreflight(await judgeEntries(call, posts)) };
    const words = { refused: refusalOfEntry, made: byAgents };
    return { output: await admitBodies({ ...call, idempotency: undefined }, bodiesOf(posts), words) };
  },
});
