import { z } from 'zod';
import { changeStatus } from '../../resources/posts/handlers.ts';
import { State } from '../../resources/posts/shape.ts';
import { postId } from '../fields.ts';
import { asCall, toolsOf } from '../tool.ts';

export const cancelPostTool = toolsOf('posts')({
  name: 'cancel_post',
  title: 'Cancel a scheduled post',
  description: 'Takes a post out of the queue; it stays as a draft.',
  surfaces: ['mcp'],
  scope: 'mcp:posts:write',
  permission: 'posts:update',
  input: z.strictObject({ id: postId }),
  output: z.strictObject({ id: z.string(), state: State, detail: z.string().nullable() }),
  async run(call) {
    const { id } = call.input;
    await changeStatus(asCall(call, { params: { id }, body: { status: 'draft' as const } }));
    const rows = await call.rooms.posts.getPost(call.principal.orgId, id);
    const { state, detail } = rows.find((row) => row.id === id)!; // it was found to be changed
    return { id, state, detail };
  },
});
