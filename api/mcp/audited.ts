import { asCallerError } from '../../src/platform/db/index.ts';
import { isId, newId } from '../../src/platform/kernel/index.ts';
import { auditActor } from '../http/audit-actor.ts';
import { programOf } from '../http/program.ts';
import type { McpCaller } from './caller.ts';
import type { AnyTool } from './tool.ts';

const idIn = (input: unknown): string | null => {
  const id = typeof input === 'object' && input !== null ? (input as { id?: unknown }).id : undefined;
  return typeof id === 'string' && isId(id) ? id : null;
};

/**
 * Notes a call of a tool that writes before it is made, and its outcome after it: a call whose outcome is not there was
 * cut off, and may have had its effect. Nothing of the input is noted.
 */
export async function audited<T>(
  caller: McpCaller,
  { tool, input, client }: { tool: AnyTool; input: unknown; client: string },
  work: () => Promise<T>,
): Promise<T> {
  if (tool.scope === 'mcp:read') return work();
  const { rooms, principal, request } = caller.call;
  const act = newId();
  const common = {
    credential: programOf(principal) ?? '',
    ...(principal.program && { program: principal.program }),
    client,
  };
  const note = (detail: Record<string, string>) =>
    rooms.audit.write(auditActor({ principal, request }), {
      orgId: principal.orgId,
      action: `agent.${tool.name}`,
      resource: tool.permission?.split(':')[0] ?? 'posts',
      resourceId: idIn(input),
      detail: { ...common, ...detail },
    });
  await note({ act });
  try {
    const result = await work();
    await note({ ends: act, outcome: 'done' });
    return result;
  } catch (error) {
    await note({ ends: act, outcome: 'refused', code: asCallerError(error).code });
    throw error;
  }
}
