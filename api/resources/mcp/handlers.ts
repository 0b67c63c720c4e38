import { z } from 'zod';
import type { Surface } from '../../../src/oauth-server/index.ts';
import { routesOf } from '../../http/route.ts';
import {
  callerOf,
  INVALID_REQUEST,
  type McpCaller,
  type Refusal,
  refusalOfMessage,
  ROOMS,
  type SurfaceCall,
} from '../../mcp/caller.ts';
import { bucketsOfMessages, hasRepeatedId, type Message, Messages, messagesOf } from '../../mcp/message.ts';

const route = routesOf(...ROOMS);

const DESCRIPTION =
  'Streamable HTTP without sessions, answered as JSON (Model Context Protocol, revisions 2024-10-07 to 2026-07-28). ' +
  'An `:id` is an API key, which then needs no header, or the organization of the credential.';

/** A surface of MCP by Streamable HTTP: POST alone; any other method is 405 (S196). */
export const surfaceRoute = <const Path extends `/${string}`>(path: Path, surface: Surface, summary: string) =>
  route({
    method: 'post',
    path,
    summary,
    description: DESCRIPTION,
    auth: ['api-key', 'oauth'],
    surface,
    planLimit: 'mcp',
    limit: '600/hour',
    buckets: (body) => bucketsOfMessages(surface, body),
    body: Messages,
    output: 'text',
    answer: z.string(),
    handle: (call) => answerSurface(surface, call),
    present: (text) => text,
  });

/** The refusal of a body that repeats an id, or of its first message that is refused. */
function refusalOfBody(caller: McpCaller, messages: readonly Message[]): (Refusal & Pick<Message, 'id'>) | undefined {
  if (hasRepeatedId(messages))
    return { status: 400, error: { code: INVALID_REQUEST, message: 'Two requests have the same id' } };
  for (const message of messages) {
    const refusal = refusalOfMessage(caller, message);
    if (refusal) return { ...refusal, id: message.id };
  }
  return undefined;
}

/**
 * Answers the messages of one request to a surface. One that its caller may not send refuses all of them: 403 or 402,
 * with the refusal as every route words it in the error (S200).
 */
async function answerSurface(surface: Surface, call: SurfaceCall & { body: Messages }): Promise<string> {
  const { body, reply } = call;
  const caller = await callerOf(surface, call);
  reply.header('content-type', 'application/json; charset=utf-8');
  const refusal = refusalOfBody(caller, messagesOf(body));
  if (refusal) {
    const { status, id = null, error, scope } = refusal;
    reply.status(status);
    if (typeof scope === 'string')
      reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${scope}"`);
    return JSON.stringify({ jsonrpc: '2.0', id, error });
  }
  const { answerMessages } = await import('../../mcp/server.ts'); // the library is loaded by the first call
  const { status, text } = await answerMessages(caller, body);
  reply.status(status);
  return text;
}
