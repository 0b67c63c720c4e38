import { z } from 'zod';
import type { PreflightEntry } from '../../../src/publishing/posts/index.ts';
import { judgePosts } from '../../resources/posts/preflight.handlers.ts';
import { PreflightReport, presentPreflight } from '../../resources/posts/preflight.shape.ts';
import { bodiesOf, faultOfEntry, SocialPosts } from '../../resources/posts/agent-posts.ts';
import { toolsOf } from '../tool.ts';

/** Judges posts together, each as create would, and names the fields that the agent wrote. */
export async function judgeEntries(call: Parameters<typeof judgePosts>[0], posts: SocialPosts) {
  const judged = await judgePosts(call, bodiesOf(posts));
  return judged.flatMap((entries, n) =>
    entries.map((entry): PreflightEntry => {
      const issues = entry.issues.map((issue) => faultOfEntry(issue, n));
      const fault = entry.issues.findIndex(({ message }) => message === entry.fault);
      return { ...entry, issues, fault: issues[fault]?.message ?? entry.fault };
    }),
  );
}

/** Of a report: names of channels, also within warnings. */
export const UNTRUSTED_OF_REPORT = ['/*/name', '/*/warnings/*/message'] as const;

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
  untrusted: UNTRUSTED_OF_REPORT.map((place) => `/output${place}`),
  run: async ({ input, ...call }) => ({ output: presentPreflight(await judgeEntries(call, input)) }),
});
