import { z } from 'zod';
import { judgePosts } from '../../resources/posts/preflight.handlers.ts';
import { PreflightReport, presentPreflight } from '../../resources/posts/preflight.shape.ts';
import { bodiesOf, faultOfEntry, SocialPosts } from '../post-input.ts';
import { toolsOf } from '../tool.ts';

export const preflightPostTool = toolsOf('posts')({
  name: 'preflight_post',
  title: 'Check posts before they are created',
  description:
    'Takes what `create_post` takes and says what it would refuse and what is worth knowing. It stores nothing and calls no network.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:create',
  input: SocialPosts,
  output: z.strictObject({ output: PreflightReport }),
  async run({ input, ...call }) {
    const judged = await Promise.all(bodiesOf(input).map((body) => judgePosts(call, body)));
    const entries = judged.map((report, n) =>
      report.map((entry) => ({ ...entry, issues: entry.issues.map((issue) => faultOfEntry(issue, n)) })),
    );
    return { output: presentPreflight(entries.flat()) };
  },
});
