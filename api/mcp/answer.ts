import type { Surface } from '../../src/oauth-server/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import { refusalOf } from './call-tool.ts';
import { callerOf, checkMessage, type McpCaller, type SurfaceCall } from './caller.ts';
import { findRepeatedId, type Message, type Messages, messagesOf } from './message.ts';

/** What answers a message in the place of its result. */
export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}
const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
/** The codes of refusals that are none of the protocol's own. */
const CODES: Readonly<Record<number, number>> = { 402: -32_004, 403: -32_003 };
const JSON_TYPE = 'application/json; charset=utf-8';

const errorMessage = (id: Message['id'], error: RpcError): string =>
  JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error });

/** The refusal of a message that its caller may not send; undefined: they may. */
export function refusalOfMessage(
  caller: McpCaller,
  message: Message,
): { status: number; scope: unknown; error: RpcError } | undefined {
  try {
    checkMessage(caller, message);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { status, extra } = error;
    const code = CODES[status] ?? INVALID_REQUEST;
    return { status, scope: extra['scope'], error: { code, message: error.message, data: refusalOf(caller, error) } };
  }
}

/** The fault of a body that the protocol would not answer in one piece. */
function faultOfBody(messages: readonly Message[]): { status: number; id: Message['id']; error: RpcError } | undefined {
  const twice = findRepeatedId(messages);
  if (twice !== undefined)
    return { status: 400, id: null, error: { code: INVALID_REQUEST, message: 'Two requests have the same id' } };
  // an answer of many messages, which would be a stream: nothing is announced here
  const listen = messages.find(({ method }) => method === 'subscriptions/listen');
  return (
    listen && { status: 404, id: listen.id, error: { code: METHOD_NOT_FOUND, message: 'There are no subscriptions' } }
  );
}

/**
 * Answers the messages of one request to a surface. One that its caller may not send refuses all of them: 403 or 402,
 * with the refusal as every route words it in the error (S200).
 */
export async function answerSurface(surface: Surface, call: SurfaceCall & { body: Messages }): Promise<string> {
  const { body, reply } = call;
  const caller = await callerOf(surface, call);
  const messages = messagesOf(body);
  reply.header('content-type', JSON_TYPE);
  const fault = faultOfBody(messages);
  if (fault) {
    reply.status(fault.status);
    return errorMessage(fault.id, fault.error);
  }
  for (const message of messages) {
    const refusal = refusalOfMessage(caller, message);
    if (!refusal) continue;
    reply.status(refusal.status);
    if (typeof refusal.scope === 'string')
      reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${refusal.scope}"`);
    return errorMessage(message.id, refusal.error);
  }
  const { answerMessages } = await import('./server.ts'); // the library is loaded by the first call
  const { status, text } = await answerMessages(caller, body);
  reply.status(status);
  return text;
}
