import { z } from 'zod';
import { SCOPES } from '../access/index.ts';

/** Those of the specification; the last is reserved. */
const ALLOWED = [...SCOPES, 'mcp:admin'] as const;

/** What an org decides for itself (S209), as its row keeps it; what is not there has its default. */
export const Settings = z.object({
  /** Whose posts are held until somebody approves (S121). */
  approvalRequired: z.union([z.literal(false), z.enum(['members', 'all'])]).default(false),
  /** What becomes of posts that were due while the service was down (S126). */
  missedPolicy: z.enum(['publish', 'ask', 'drop']).default('publish'),
  /** What becomes of posts that were due while their channel was not connected (S135). */
  reconnectPolicy: z.enum(['publish', 'ask', 'drop']).default('publish'),
  shortlink: z.enum(['ASK', 'YES', 'NO']).default('ASK'),
  defaultShortlinkProviderId: z.string().nullable().default(null),
  /** What programs may do over MCP (S201): null does not restrict, an empty list allows nothing. */
  mcp: z.object({ allowedScopes: z.array(z.enum(ALLOWED)).nullable().default(null), allowProposals: z.boolean().default(false) }).prefault({}),
});
export type Settings = z.output<typeof Settings>;
export type SettingsChange = { [K in Exclude<keyof Settings, 'mcp'>]?: Settings[K] | undefined };
export type McpChange = { [K in keyof Settings['mcp']]?: Settings['mcp'][K] | undefined };
