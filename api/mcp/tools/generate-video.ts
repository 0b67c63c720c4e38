import { z } from 'zod';
import { FORMS } from '../../../src/studio/media-jobs/index.ts';
import { beginVideo, fileOf } from '../../resources/files/job.handlers.ts';
import { objectOf, pairs } from '../../http/pairs.ts';
import { toolsOf } from '../tool.ts';

export const generateVideoTool = toolsOf('mediaJobs')({
  name: 'generate_video',
  alias: 'generateVideoTool',
  title: 'Create a video',
  description:
    'Makes a video by one of `video_options` and puts it into the library. `url` of the answer is what `attachments` of posts take; a long job answers `jobId`.',
  surfaces: ['mcp', 'media-mcp'],
  scope: 'mcp:posts:write',
  permission: 'ai:create',
  input: z.strictObject({
    identifier: z.string().min(1).max(200).describe('`identifier` of `video_options`.'),
    output: z.enum(FORMS).optional().describe('The form of the video.'),
    customParams: pairs(
      'Values that `video_options` names, such as `prompt`, `seconds` and `options.<name>`; `sources` as a list in JSON.',
    ).optional(),
  }),
  output: z.strictObject({
    url: z.string().optional(),
    jobId: z.string().optional().describe('The job takes longer: ask `media_job_status`.'),
  }),
  async run({ input: { identifier, output, customParams = [] }, ...call }) {
    const asked = { type: identifier, output, customParams: objectOf(customParams) };
    const begun = await beginVideo(call, asked);
    return 'jobId' in begun ? { jobId: begun.jobId } : { url: fileOf(begun.shown).path };
  },
});
