import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('mediaJobs');
const words = z.string().trim().min(1).max(200);

export default [
  route({
    method: 'post',
    path: '/public/v1/video/function',
    summary: 'List values of a video option',
    description:
      'Such as voices or avatars: `identifier` is a way to make a video, and `functionName` one of its lists. ' +
      'Lists take no values: `params`, and keys beside it, are ignored.',
    auth: ['api-key', 'oauth'],
    permission: 'media:read',
    limit: '30/minute',
    body: z.looseObject({
      functionName: words,
      identifier: words,
      params: z.record(z.string(), z.unknown()).optional(),
    }),
    answer: z.array(z.strictObject({ id: z.string(), label: z.string() })),
    handle: ({ rooms, principal, body: { identifier, functionName } }) =>
      rooms.mediaJobs.videoTool(principal.orgId, { identifier, tool: functionName }),
    present: (listed) => listed.map(({ id, label }) => ({ id, label })),
  }),
];
