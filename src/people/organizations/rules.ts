import { z } from 'zod';
import { SCOPES } from '../access/index.ts';

/** The settings of an org (S209), as its row keeps them; what is not there has its default. */
export const Settings = z.object({
  /** Whose posts wait for approval (S121): of who may not decide about posts, of everybody, or nobody's. */
  approvalRequired: z.union([z.literal(false), z.enum(['members', 'all'])]).default(false),
  /** The treatment of posts that were due while their channel was not connected (S135). */
  reconnectPolicy: z.enum(['publish', 'ask', 'drop']).default('publish'),
  /** The treatment of posts that were due while the service was down (S126). */
  missedPolicy: z.enum(['publish', 'ask', 'drop']).default('publish'),
  shortlink: z.enum(['ASK', 'YES', 'NO']).default('ASK'),
  defaultShortlinkProviderId: z.string().nullable().default(null),
});
export type Settings = z.output<typeof Settings>;
/** What an organization lets programs do by MCP (S201); what was never decided restricts nothing. */
export const McpPolicy = z.object({
  /** The scopes that keys and tokens have at most; null: no restriction. */
  allowedScopes: z.array(z.enum(SCOPES)).nullable().default(null),
  /** Whether who may only read may propose posts. */
  allowProposals: z.boolean().default(false),
});
export type McpPolicy = z.output<typeof McpPolicy>;
export const mcpPolicyOf = ({ settings }: { settings: Readonly<Record<string, unknown>> }): McpPolicy =>
  McpPolicy.parse(settings['mcp'] ?? {});

/** The settings as they hold: what was never decided has its default. */
export const orgSettingsOf = (row: { settings: unknown }): Settings => Settings.parse(row.settings);
export type SettingsChange = { [K in keyof Settings]?: Settings[K] | undefined };
