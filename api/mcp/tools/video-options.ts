import { z } from 'zod';
import { presentVideoOption, VideoWay } from '../../resources/files/job.shape.ts';
import { toolsOf } from '../tool.ts';

export const videoOptionsTool = toolsOf('mediaJobs')({
  name: 'video_options',
  alias: 'generateVideoOptions',
  title: 'List ways to make a video',
  description:
    'Lists the ways to make a video, with the values that each takes in `tools`; of each group of `anyOf` one must be given: a name of `tools`, or a kind of file among `sources`. Call it before `generate_video`.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:read',
  permission: 'ai:read',
  input: z.strictObject({}),
  output: z.strictObject({ video: z.array(VideoWay) }),
  run: async ({ rooms, principal }) => ({
    video: (await rooms.mediaJobs.videoOptions(principal.orgId)).map(presentVideoOption),
  }),
});
