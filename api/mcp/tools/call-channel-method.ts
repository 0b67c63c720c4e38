import { z } from 'zod';
import { objectOf, pairs } from '../../http/pairs.ts';
import { channelId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const callChannelMethodTool = toolsOf('channels')({
  name: 'call_channel_method',
  alias: 'triggerTool',
  title: 'Request data from the network of a channel',
  description:
    'Calls a method of `tools` of `channel_schema`, such as one that lists the boards that a post can go to. It changes nothing there.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'channels:read',
  input: z.strictObject({
    integrationId: channelId,
    methodName: z.string().min(1).max(100).describe('`methodName` of `channel_schema`.'),
    dataSchema: pairs('The data of the method, as `channel_schema` describes them.').optional(),
  }),
  output: z.strictObject({ output: z.unknown() }),
  untrusted: ['/output/**'],
  async run({ rooms, principal, input: { integrationId, methodName, dataSchema = [] } }) {
    const data = objectOf(dataSchema);
    return { output: await rooms.channels.callTool(principal.orgId, integrationId, methodName, data) };
  },
});
