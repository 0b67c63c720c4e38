import { z } from 'zod';
import { cursor, nextCursor, partOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

export const listChannelsTool = toolsOf('channels')({
  name: 'list_channels',
  alias: 'integrationList',
  title: 'List channels',
  description:
    'Lists the channels (accounts of social networks) that posts can be published to. Their ids are needed to create posts.',
  readAt: {
    template: 'rookery://channels',
    name: 'channels',
    title: 'Channels',
    description: 'The channels that posts can be published to.',
  },
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'channels:read',
  input: z.strictObject({
    group: z.string().max(255).optional().describe('Only channels of this group, an id of `list_groups`.'),
    cursor,
  }),
  output: z.strictObject({
    output: z.array(
      z.strictObject({ id: z.string(), name: z.string(), picture: z.string().nullable(), platform: z.string() }),
    ),
    nextCursor,
  }),
  untrusted: ['/output/*/name'],
  async run({ rooms, principal, input }) {
    const channels = await rooms.channels.list(principal.orgId, input.group || undefined);
    const shown = channels.map(({ id, name, picture, providerId }) => ({ id, name, picture, platform: providerId }));
    const { items, ...part } = partOf(shown, input.cursor);
    return { output: items, ...part };
  },
});
