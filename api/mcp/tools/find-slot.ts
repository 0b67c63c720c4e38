import { z } from 'zod';
import { presentSlot, Slot } from '../../resources/posts/shape.ts';
import { channelId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const findSlotTool = toolsOf('posts')({
  name: 'find_slot',
  title: 'Find the next free posting time',
  description: 'Answers the next free posting time in UTC, of one channel or over all of them.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({
    integrationId: channelId.optional(),
  }),
  output: Slot,
  run: async ({ rooms, principal, input }) =>
    presentSlot(await rooms.posts.findSlot(principal.orgId, input.integrationId)),
});
