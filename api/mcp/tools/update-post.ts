import { z } from 'zod';
import { parse } from '../../../src/platform/kernel/index.ts';
import { EditBody } from '../../../src/publishing/posts/index.ts';
import { applyEdit, updatable } from '../../resources/posts/handlers.ts';
import { PostWithThread, presentPostWithThread } from '../../resources/posts/shape.ts';
import { objectOf, pairs } from '../../http/pairs.ts';
import { postId } from '../fields.ts';
import { refusalOfEdit } from '../../resources/posts/agent-posts.ts';
import { asCall, toolsOf } from '../tool.ts';
import { UNTRUSTED_OF_POST } from './get-post.ts';

export const updatePostTool = toolsOf(
  'clock',
  'posts',
)({
  name: 'update_post',
  title: 'Edit an unpublished post',
  description: 'Changes what is given of a post that is not out yet; settings that are not named stay.',
  surfaces: ['mcp'],
  scope: 'mcp:posts:write',
  permission: 'posts:update',
  input: z.strictObject({
    id: postId,
    content: z.string().max(100_000).optional().describe('The new text.'),
    attachments: z
      .array(z.string().max(4_000).describe('Address of a file, such as the `path` of an upload.'))
      .max(100)
      .optional()
      .describe('The pictures and videos, in the place of those that it has.'),
    date: z.string().max(100).optional().describe('The new date, in UTC, such as 2026-09-01T10:00:00Z.'),
    settings: pairs('Settings of the network to change.').optional(),
    dryRun: z.boolean().optional().describe('Only judge the edit and change nothing.'),
  }),
  output: PostWithThread,
  untrusted: UNTRUSTED_OF_POST,
  async run(call) {
    const { id, content, attachments, date, settings, dryRun = false } = call.input;
    const { orgId, userId } = call.principal;
    try {
      const body = parse(EditBody, {
        ...(content !== undefined && { content }),
        ...(attachments && { image: attachments.map((path) => ({ path })) }),
        ...(date !== undefined && { publishDate: date }),
        ...(settings && { settings: objectOf(settings) }),
      });
      if (!dryRun) return presentPostWithThread(await applyEdit(asCall(call, { body, params: { id } }), true));
      await updatable(call, id);
      await call.rooms.posts.prepareEdit(orgId, id, body, { userId, merge: true });
    } catch (error) {
      throw refusalOfEdit(error);
    }
    return presentPostWithThread(await call.rooms.posts.getPost(orgId, id));
  },
});
