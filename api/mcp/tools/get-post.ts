import { z } from 'zod';
import { PostWithThread, presentPostWithThread } from '../../resources/posts/shape.ts';
import { postId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

/** Of a post: what the network says of itself and of what went wrong. */
const OUTSIDE_OF_POST = ['/integration/name', '/error', '/firstComment/error'] as const;

export const getPostTool = toolsOf('posts')({
  name: 'get_post',
  title: 'Get a post',
  description: 'Answers a post with its thread, its state and what the network says of it.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({ id: postId }),
  output: PostWithThread,
  untrusted: [...OUTSIDE_OF_POST, ...OUTSIDE_OF_POST.map((place) => `/thread/*${place}`)],
  run: async ({ rooms, principal, input }) =>
    presentPostWithThread(await rooms.posts.getPost(principal.orgId, input.id)),
});
