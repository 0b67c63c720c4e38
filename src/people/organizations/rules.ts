import { z } from 'zod';

/** The settings of an org (S209), as its row keeps them; what is not there has its default. */
export const Settings = z.object({
  /** Whose posts wait for approval (S121): of who may not decide about posts, of everybody, or nobody's. */
  approvalRequired: z.union([z.literal(false), z.enum(['members', 'all'])]).default(false),
  /** The treatment of posts that were due while their channel was not connected (S135). */
  reconnectPolicy: z.enum(['publish', 'ask', 'drop']).default('publish'),
  shortlink: z.enum(['ASK', 'YES', 'NO']).default('ASK'),
  defaultShortlinkProviderId: z.string().nullable().default(null),
});
export type Settings = z.output<typeof Settings>;
/** The settings as they hold: what was never decided has its default. */
export const orgSettingsOf = (row: { settings: unknown }): Settings => Settings.parse(row.settings);
export type SettingsChange = { [K in keyof Settings]?: Settings[K] | undefined };

/** The default of every org: late posts go out (S126). */
export const HOLDS = { missedPolicy: 'publish' } as const;
