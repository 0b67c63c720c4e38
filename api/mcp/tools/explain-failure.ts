import { z } from 'zod';
import { explanationOf } from '../../resources/posts/explanation.ts';
import { presentTimeline, Timeline } from '../../resources/posts/shape.ts';
import { postId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const explainFailureTool = toolsOf('posts')({
  name: 'explain_failure',
  title: 'Explain why a post failed',
  description:
    'Says why a post was not published, in words of the network too, what was tried, what to do, and whether trying again is safe.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({ id: postId }),
  output: z.strictObject({
    id: z.string(),
    errorKind: z.string().nullable(),
    summary: z.string(),
    error: z.string().nullable(),
    timeline: Timeline.shape.items,
    suggestion: z.string(),
    safeToRetry: z.boolean(),
  }),
  untrusted: ['/error', '/timeline/*/message', '/timeline/*/data/**'],
  async run({ rooms, principal: { orgId }, input: { id } }) {
    const rows = await rooms.posts.getPost(orgId, id);
    const row = rows.find((one) => one.id === id)!; // it was found by this id
    const { items } = presentTimeline(await rooms.posts.getTimeline(orgId, id));
    const { summary, suggestion, again } = explanationOf(row);
    const { errorKind, error } = row;
    return { id, errorKind, summary, error, timeline: items, suggestion, safeToRetry: again };
  },
});
