import { z } from 'zod';
import { ROOMS } from '../../mcp/caller.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf(...ROOMS);

export default [
  route({
    method: 'get',
    path: '/sse/:id',
    summary: 'Start a stream of MCP messages',
    description:
      'HTTP with SSE, for clients of revision 2024-11-05: the first event names the address that takes messages. ' +
      'An `:id` is an API key, which then needs no header, or the organization of the credential.',
    auth: ['api-key', 'oauth'],
    surface: 'mcp',
    planLimit: 'mcp',
    limit: '600/hour',
    buckets: () => ['mcp'],
    output: 'bytes',
    answer: z.unknown(),
    async handle(call) {
      const { openStream } = await import('../../mcp/sse.ts'); // the library is loaded by the first call
      return openStream(call);
    },
    present: (stream) => stream,
  }),
];
