import { z } from 'zod';
import { type Surface } from '../../src/oauth-server/index.ts';
import { findTool } from './catalog.ts';

/** A message of JSON-RPC 2.0; what its members mean is judged by the protocol. */
export const Message = z.strictObject({
  jsonrpc: z.literal('2.0').describe('The version of JSON-RPC.'),
  id: z.union([z.string().max(1_000), z.number()]).nullish(),
  method: z.string().max(200).optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});
export type Message = z.output<typeof Message>;
const MOST_MESSAGES = 100;
/** A message, or several as one body. */
export const Messages = z.union([Message, z.array(Message).min(1).max(MOST_MESSAGES)]);
export type Messages = z.output<typeof Messages>;

export const messagesOf = (body: Messages): Message[] => (Array.isArray(body) ? body : [body]);

/** The tool that a message calls; undefined for any other message, and for a tool that is not there. */
export const toolOf = (surface: Surface, { method, params }: Message) =>
  method === 'tools/call' ? findTool(surface, params?.['name']) : undefined;

/** The rate-limit buckets of messages: one a tool, and one for all other messages (S17). */
export const bucketsOfMessages = (surface: Surface, body: Messages): string[] =>
  messagesOf(body).map((message) => `mcp ${toolOf(surface, message)?.name ?? ''}`.trim());

/** Whether two requests of one body have one id: an answer could not be told from the other. */
export function hasRepeatedId(messages: readonly Message[]): boolean {
  const ids = messages.flatMap(({ id, method }) => (id == null || method === undefined ? [] : [id]));
  return new Set(ids).size < ids.length;
}
