import { z } from 'zod';
import { cursor, nextCursor, partOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

export const listGroupsTool = toolsOf('channels')({
  name: 'list_groups',
  alias: 'groupList',
  title: 'List groups of channels',
  description: 'Lists the groups (such as customers) that channels belong to.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'channels:read',
  input: z.strictObject({ cursor }),
  output: z.strictObject({ output: z.array(z.strictObject({ id: z.string(), name: z.string() })), nextCursor }),
  async run({ rooms, principal, input }) {
    const groups = await rooms.channels.customers(principal.orgId);
    const { items, ...part } = partOf(
      groups.map(({ id, name }) => ({ id, name })),
      input.cursor,
    );
    return { output: items, ...part };
  },
});
