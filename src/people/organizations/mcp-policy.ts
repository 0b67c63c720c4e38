import type { AuditActor } from '../../platform/audit/index.ts';
import { briefLookups } from '../../platform/cache/index.ts';
import type { Database, Json } from '../../platform/db/index.ts';
import { type Clock, notFound } from '../../platform/kernel/index.ts';
import { sortedScopes } from '../access/index.ts';
import { type McpPolicy, mcpPolicyOf } from './rules.ts';
import { findOrganization, type OrganizationRow } from './store.ts';

/** What organizations let programs do by MCP. */
export interface McpPolicies extends Disposable {
  /** What changes elsewhere is seen within a second. */
  mcpPolicy(orgId: string): Promise<McpPolicy>;
  changeMcpPolicy(orgId: string, by: AuditActor, policy: McpPolicy): Promise<McpPolicy>;
}
interface Needs {
  sql: Database;
  clock: Clock;
  /** Writes a change of settings and the note of it in one commit. */
  write(
    orgId: string,
    by: AuditActor,
    action: string,
    change: { settings: Record<string, Json> },
    detail: Record<string, unknown>,
  ): Promise<OrganizationRow>;
}

export function openMcpPolicies({ sql, clock, write }: Needs): McpPolicies {
  const policies = briefLookups<McpPolicy>({
    clock,
    look: async (orgId) => {
      const row = await findOrganization(sql, orgId);
      return row && mcpPolicyOf(row);
    },
  });
  return {
    async mcpPolicy(orgId) {
      const policy = await policies.get(orgId);
      if (!policy) throw notFound();
      return policy;
    },
    async changeMcpPolicy(orgId, by, { allowedScopes, allowProposals }) {
      const mcp = { allowedScopes: allowedScopes && sortedScopes(allowedScopes), allowProposals };
      const row = await write(orgId, by, 'mcp.updated', { settings: { mcp } }, mcp);
      policies.forget(orgId);
      return mcpPolicyOf(row);
    },
    [Symbol.dispose]: () => policies.forget(),
  };
}
