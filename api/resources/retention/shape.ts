import { z } from 'zod';
import type { RetentionLine } from '../../../src/operations/retention/index.ts';
import { instant } from '../../http/fields.ts';

export const RetentionEntry = z.strictObject({
  variable: z.string(),
  days: z.int(),
  due: z.int(),
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

export const presentRetention = ({
  variable,
  days,
  due,
  oldest,
  runs,
}: RetentionLine): z.input<typeof RetentionEntry> => ({
  variable,
  days,
  due,
  oldest: oldest?.toISOString() ?? null,
  runs: runs.map(({ name, lastRunAt, lastStatus, lastChanged }) => ({
    sweep: name,
    lastRunAt: lastRunAt?.toISOString() ?? null,
    lastStatus,
    lastChanged,
  })),
});
