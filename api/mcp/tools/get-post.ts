import { z } from 'zod';
import { PostWithThread, presentPostWithThread } from '../../resources/posts/shape.ts';
import { postId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

const OF_ITEM = ['/integration/name', '/error', '/firstComment/error'] as const;
/** Of a post with its thread: what the network says of itself and of what went wrong. */
export const UNTRUSTED_OF_POST = [...OF_ITEM, ...OF_ITEM.map((place) => `/thread/*${place}`)];

export const getPostTool = toolsOf('posts')({
  name: 'get_post',
  title: 'Get a post',
  description: 'Answers a post with its thread, its state and what the network says of it.',
  readAt: { template: 'rookery://posts/{id}', name: 'post', title: 'Post', description: 'A post with its thread.' },
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({ id: postId }),
  output: PostWithThread,
  untrusted: UNTRUSTED_OF_POST,
  run: async ({ rooms, principal, input }) =>
    presentPostWithThread(await rooms.posts.getPost(principal.orgId, input.id)),
});
