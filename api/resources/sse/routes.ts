import { z } from 'zod';
import { ROOMS } from '../../mcp/caller.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf(...ROOMS, 'auth', 'oauth');

export default [
  route({
    method: 'get',
    path: '/sse/:id',
    summary: 'Start a stream of MCP messages',
    description:
      'HTTP with SSE, for clients of revision 2024-11-05: the first event names the address that takes messages. ' +
      'An `:id` is an API key, which then needs no header, or the organization of the credential. ' +
      'A stream ends within a minute after its credential.',
    auth: ['api-key', 'oauth'],
    surface: 'mcp',
    planLimit: 'mcp',
    limit: '600/hour',
    buckets: () => ['mcp'],
    isStream: 'always',
    output: 'text',
    mediaType: 'text/event-stream',
    answer: z.string(),
    async handle(call) {
      const { checkStream } = await import('./streams.ts'); // the library is loaded by the first call
      await checkStream(call);
      call.reply.header('content-type', 'text/event-stream; charset=utf-8');
      return ''; // to HEAD
    },
    present: (text) => text,
    async *events(call, gone) {
      const { streamEvents } = await import('./streams.ts');
      yield* streamEvents(call, gone);
    },
  }),
];
