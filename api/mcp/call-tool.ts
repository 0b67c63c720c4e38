import { noteAround } from '../../src/platform/audit/index.ts';
import { asCallerError } from '../../src/platform/db/index.ts';
import { AppError, isId, parse } from '../../src/platform/kernel/index.ts';
import { auditActor } from '../http/audit-actor.ts';
import { programOf } from '../http/program.ts';
import type { Room } from '../http/route.ts';
import { type McpCaller, refusalOf } from './caller.ts';
import { faultOf, resultOf, type ToolResult } from './result.ts';
import type { AnyTool } from './tool.ts';

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

/** The input of a call, and what the program that makes it calls itself. */
interface Given {
  input: unknown;
  client: string;
}

/** Calls a tool; what it refuses is a result for the agent, never the text of a failure of ours (S202). */
export async function callTool(caller: McpCaller, tool: AnyTool, given: Given): Promise<ToolResult> {
  const work = () => answerOf(caller, tool, given.input);
  try {
    const answer = await (tool.scope === 'mcp:read' ? work() : audited(caller, tool, given, work));
    return resultOf(answer, tool);
  } catch (thrown) {
    return faultOf(refusalOf(caller, noted(caller, tool.name, thrown)));
  }
}

/**
 * Notes a call that may write, and its outcome: an agent that hears of a failure calls again. Nothing of the input is
 * noted but the id that it names.
 */
function audited<T>(caller: McpCaller, tool: AnyTool, { input, client }: Given, work: () => Promise<T>): Promise<T> {
  const { rooms, principal, request } = caller.call;
  const common = {
    credential: programOf(principal) ?? '',
    ...(principal.program && { program: principal.program }),
    client,
  };
  const note = (detail: Readonly<Record<string, string>>) =>
    rooms.audit.write(auditActor({ principal, request }), {
      orgId: principal.orgId,
      action: `agent.${tool.name}`,
      resource: tool.permission?.split(':')[0] ?? 'posts',
      resourceId: idIn(input),
      detail: { ...common, ...detail },
    });
  return noteAround(note, work, (error) => void noted(caller, tool.name, error));
}
function idIn(input: unknown): string | null {
  const { id } = Object(input) as { id?: unknown };
  return typeof id === 'string' && isId(id) ? id : null;
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
