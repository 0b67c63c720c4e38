import { z } from 'zod';
import { cancelPost } from '../../resources/posts/handlers.ts';
import { postId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const deletePostTool = toolsOf('posts')({
  name: 'delete_post',
  title: 'Delete a post',
  description: 'Deletes a post with its thread for good; nothing of it is published any more.',
  surfaces: ['mcp'],
  scope: 'mcp:posts:write',
  permission: 'posts:delete',
  input: z.strictObject({ id: postId }),
  output: z.strictObject({ id: z.string() }),
  async run({ input: { id }, ...call }) {
    await call.rooms.posts.getPost(call.principal.orgId, id); // 404 for what is none of this organization
    await cancelPost(call, id);
    return { id };
  },
});
