import { z } from 'zod';
import type { PreflightEntry, SentBody } from '../../../src/publishing/posts/index.ts';
import { judgePosts } from '../../resources/posts/preflight.handlers.ts';
import { PreflightReport, presentPreflight } from '../../resources/posts/preflight.shape.ts';
import { bodiesOf, faultOfEntry, SocialPosts } from '../post-input.ts';
import { toolsOf } from '../tool.ts';

type Call = Parameters<typeof judgePosts>[0];
type Bodies = readonly (readonly [n: number, body: SentBody])[];

/** Judges bodies of one post each as one body, so that what they are too much for together is found. */
async function judgeTogether(call: Call, bodies: Bodies): Promise<[n: number, entry: PreflightEntry][]> {
  const [, first] = bodies[0]!; // groups are not empty
  const report = await judgePosts(call, { ...first, posts: bodies.flatMap(([, { posts }]) => posts) });
  const isTooMuch = report.some(({ issues }) => issues.some(({ rule }) => rule === 'too_big'));
  // create reads each for itself
  if (isTooMuch && bodies.length > 1)
    return (await Promise.all(bodies.map((one) => judgeTogether(call, [one])))).flat();
  return report.map((entry, at) => {
    const n = bodies[at]![0];
    const issues = entry.issues.map((issue) => faultOfEntry(issue, n, at));
    const fault = entry.issues.findIndex(({ message }) => message === entry.fault);
    return [n, { ...entry, issues, fault: issues[fault]?.message ?? entry.fault }];
  });
}

/** Judges posts as create would, those of one type and date together, and names the fields that the agent wrote. */
export async function judgeEntries(call: Call, posts: SocialPosts): Promise<PreflightEntry[]> {
  const bodies = [...bodiesOf(posts).entries()];
  const acts = Map.groupBy(bodies, ([, { type, date, shortLink }]) => JSON.stringify([type, date, shortLink]));
  const judged = await Promise.all([...acts.values()].map((one) => judgeTogether(call, one)));
  return judged
    .flat()
    .toSorted(([a], [b]) => a - b)
    .map(([, entry]) => entry);
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
