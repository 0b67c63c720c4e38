import { z } from 'zod';
import { cursor, nextCursor, partOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

export const videoFunctionTool = toolsOf('mediaJobs')({
  name: 'video_function',
  alias: 'videoFunctionTool',
  title: 'List values of a video option',
  description: 'Lists what a value of `video_options` can be, such as voices or avatars.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:read',
  permission: 'ai:read',
  input: z.strictObject({
    identifier: z.string().min(1).max(200).describe('`identifier` of `video_options`.'),
    functionName: z.string().min(1).max(200).describe('`tool` of one of its values.'),
    cursor,
  }),
  output: z.strictObject({ output: z.array(z.strictObject({ id: z.string(), label: z.string() })), nextCursor }),
  untrusted: ['/output/*/label'],
  async run({ rooms, principal, input: { identifier, functionName, cursor: from } }) {
    const listed = await rooms.mediaJobs.videoTool(principal.orgId, { identifier, tool: functionName });
    const { items, ...part } = partOf(
      listed.map(({ id, label }) => ({ id, label })),
      from,
    );
    return { output: items, ...part };
  },
});
