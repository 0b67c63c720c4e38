import { z } from 'zod';
import { invalidField } from '../../../src/platform/kernel/index.ts';
import { ChannelRules, presentRules } from '../../resources/integrations/shape.ts';
import { toolsOf } from '../tool.ts';

export const channelSchemaTool = toolsOf('channels')({
  name: 'channel_schema',
  alias: 'integrationSchema',
  title: 'Get the posting rules of a network',
  description:
    'Answers the rules, the greatest length, the settings and the methods of a network. Call it before you write a post for it.',
  readAt: {
    template: 'rookery://networks/{platform}/rules',
    name: 'network-rules',
    title: 'Rules of a network',
    description: 'The rules, the greatest length and the settings of posts for a network.',
  },
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'channels:read',
  input: z.strictObject({
    platform: z.string().min(1).max(255).describe('`platform` of a channel of `list_channels`, such as `x`.'),
    isPremium: z.boolean().optional().describe('Ignored: the limits of the channel are known.'),
  }),
  output: z.strictObject({ output: ChannelRules }),
  async run({ rooms, principal: { orgId }, input: { platform } }) {
    const own = (await rooms.channels.list(orgId)).find(({ providerId }) => providerId === platform);
    if (own) return { output: presentRules(await rooms.channels.rulesOf(orgId, own.id)) };
    const adapter = (await rooms.channels.networks(orgId)).find(({ id }) => id === platform);
    if (!adapter) throw invalidField('platform', 'no such network: take it from `list_channels`', 'unknown_id');
    return { output: presentRules(rooms.channels.postingRules(adapter)) };
  },
});
