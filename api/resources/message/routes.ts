import { z } from 'zod';
import { ROOMS } from '../../mcp/caller.ts';
import { bucketsOfMessages, Messages } from '../../mcp/message.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf(...ROOMS);

export default [
  route({
    method: 'post',
    path: '/message/:id',
    summary: 'Send messages to a stream of MCP messages',
    description: 'The answer comes on the stream; 404 where it is gone.',
    auth: ['api-key', 'oauth'],
    surface: 'mcp',
    planLimit: 'mcp',
    limit: '600/hour',
    buckets: (body) => bucketsOfMessages('mcp', body),
    query: z.object({ sessionId: z.string().min(1).max(200) }),
    body: Messages,
    accepted: 'always',
    output: 'text',
    answer: z.string(),
    async handle(call) {
      const { sendToStream } = await import('../sse/streams.ts');
      await sendToStream(call, call.query.sessionId, call.body);
      return 'Accepted';
    },
    present: (text) => text,
  }),
];
