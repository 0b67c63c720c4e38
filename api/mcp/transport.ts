import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server';

/** A message of a client, with who sent it. */
export type Deliver = (message: JSONRPCMessage, extra: MessageExtraInfo) => void;

/**
 * The transport of a legacy stream (HTTP with SSE, revision 2024-11-05): what the server sends goes out as events
 * `message`, what the client sends comes by POST and is delivered.
 */
export function openStreamTransport(sessionId: string, write: (event: { event: 'message'; data: unknown }) => void) {
  const transport: Transport = {
    sessionId,
    start: async () => {},
    send: async (message) => write({ event: 'message', data: message }),
    close: async () => transport.onclose?.(),
  };
  const deliver: Deliver = (message, extra) => transport.onmessage?.(message, extra);
  return { transport, deliver };
}
