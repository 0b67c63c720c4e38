import { z } from 'zod';
import { explanationOf } from '../../resources/posts/explanation.ts';
import { presentTimeline, Timeline } from '../../resources/posts/shape.ts';
import { postId } from '../fields.ts';
import { cursor, fitting, nextCursor, type Part, placeOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

/** A part of a list from its end, in its order: each stands before the one that was answered. */
function lastPartOf<T>(items: readonly T[], before: string | undefined): Part<T> {
  const [end = items.length] = placeOf(before) ?? [];
  const rest = items.slice(0, end);
  const start = rest.length - fitting(rest.toReversed());
  return { items: rest.slice(start), nextCursor: start > 0 ? String(start) : null };
}

export const explainFailureTool = toolsOf('posts')({
  name: 'explain_failure',
  title: 'Explain why a post failed',
  description:
    'Says why a post was not published, in words of the network too, what was tried, what to do, and whether trying again is safe.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({ id: postId, cursor }),
  output: z.strictObject({
    id: z.string(),
    errorKind: z.string().nullable(),
    summary: z.string(),
    error: z.string().nullable(),
    timeline: Timeline.shape.items,
    suggestion: z.string(),
    safeToRetry: z.boolean(),
    nextCursor: nextCursor.describe(
      'Send it as `cursor` to get the earlier part of the timeline; null at its beginning.',
    ),
  }),
  untrusted: ['/error', '/timeline/*/message', '/timeline/*/data/**'],
  async run({ rooms, principal: { orgId }, input: { id, cursor: before } }) {
    const rows = await rooms.posts.getPost(orgId, id);
    const row = rows.find((one) => one.id === id)!; // it was found by this id
    const { items } = presentTimeline(await rooms.posts.getTimeline(orgId, id));
    const { items: timeline, ...part } = lastPartOf(items, before); // what failed last is in its end
    const { summary, suggestion, again } = explanationOf(row);
    const { errorKind, error } = row;
    return { id, errorKind, summary, error, timeline, suggestion, safeToRetry: again, ...part };
  },
});
