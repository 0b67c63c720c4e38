import type { Room } from '../http/route.ts';
import { asCallerError } from '../../src/platform/db/index.ts';
import { AppError, parse } from '../../src/platform/kernel/index.ts';
import { refusalText } from '../http/errors.ts';
import { audited } from './audited.ts';
import type { McpCaller } from './caller.ts';
import { faultOf, resultOf, type ToolResult } from './result.ts';
import type { AnyTool } from './tool.ts';

/** The body of a refusal, as every route sends it (S3). */
export function refusalOf({ call }: Pick<McpCaller, 'call'>, error: AppError): Record<string, unknown> {
  const { frontendUrl } = call.rooms.config.http;
  return JSON.parse(refusalText(error, undefined, call.request.id, frontendUrl)) as Record<string, unknown>;
}

/**
 * What a tool answers somebody who has its scope.
 * @throws AppError `forbidden` for whose role lacks the permission, `validation_failed` for wrong input, as the tool does
 */
export async function answerOf(
  { call }: McpCaller,
  tool: AnyTool,
  input: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  if (tool.permission && !call.principal.permissions.has(tool.permission))
    throw new AppError('forbidden', `Your role lacks the permission ${tool.permission}`);
  const rooms = Object.fromEntries(tool.rooms.map((room: Room) => [room, call.rooms[room]]));
  const principal = { ...call.principal, agent: call.principal.program ?? 'An agent' };
  return tool.run({ ...call, rooms, principal, input: parse(tool.input, input ?? {}) });
}

/**
 * Calls a tool; what it refuses is a result for the agent, never the text of a failure of ours (S202). `client`: what
 * the program calls itself.
 */
export async function callTool(
  caller: McpCaller,
  tool: AnyTool,
  { input, client }: { input: unknown; client: string },
): Promise<ToolResult> {
  try {
    const answer = await audited(caller, { tool, input, client }, () => answerOf(caller, tool, input));
    return resultOf(answer, tool.untrusted);
  } catch (thrown) {
    return faultOf(refusalOf(caller, noted(caller, tool.name, thrown)));
  }
}

/** What was thrown as an error that callers may see; a failure of ours is logged. */
export function noted({ call: { rooms, principal } }: McpCaller, name: string, thrown: unknown): AppError {
  const error = asCallerError(thrown);
  if (error.status < 500) return error;
  const line = { tool: name, orgId: principal.orgId, err: error.cause ?? error };
  const log = rooms.logs.of('http');
  if (error.status === 500) log.error(line, 'a tool failed');
  else log.warn(line, 'a tool could not be served');
  return error;
}
