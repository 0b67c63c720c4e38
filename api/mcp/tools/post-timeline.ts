import { z } from 'zod';
import { presentTimeline, Timeline } from '../../resources/posts/shape.ts';
import { postId } from '../fields.ts';
import { cursor, nextCursor, partOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

export const postTimelineTool = toolsOf('posts')({
  name: 'post_timeline',
  title: 'Get the timeline of a post',
  description: 'Answers what happened to a post, oldest first.',
  readAt: {
    template: 'rookery://posts/{id}/timeline',
    name: 'post-timeline',
    title: 'Timeline of a post',
    description: 'What happened to a post, oldest first.',
  },
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({ id: postId, cursor }),
  output: Timeline.extend({ nextCursor }),
  untrusted: ['/items/*/message', '/items/*/data/**'],
  async run({ rooms, principal, input }) {
    const { items, ...timeline } = presentTimeline(await rooms.posts.getTimeline(principal.orgId, input.id));
    return { ...timeline, ...partOf(items, input.cursor) };
  },
});
