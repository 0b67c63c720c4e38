import { z } from 'zod';
import type { RetentionLine } from '../../../src/operations/retention/index.ts';
import { instant } from '../../http/fields.ts';

export const RetentionEntry = z.strictObject({
  variable: z.string(),
  days: z.int(),
  /** `not_available`: nothing that the setting is about is kept by this version. */
  state: z.enum(['kept', 'not_available']),
  due: z.int().nullable(),
  oldest: instant.nullable(),
  runs: z.array(
    z.strictObject({
      sweep: z.string(),
      lastRunAt: instant.nullable(),
      lastStatus: z.string().nullable(),
      lastChanged: z.int().nullable(),
    }),
  ),
});

export const presentRetention = ({ variable, days, kept }: RetentionLine): z.input<typeof RetentionEntry> => ({
  variable,
  days,
  state: kept ? 'kept' : 'not_available',
  due: kept?.due ?? null,
  oldest: kept?.oldest?.toISOString() ?? null,
  runs: (kept?.runs ?? []).map(({ name, lastRunAt, lastStatus, lastChanged }) => ({
    sweep: name,
    lastRunAt: lastRunAt?.toISOString() ?? null,
    lastStatus,
    lastChanged,
  })),
});
