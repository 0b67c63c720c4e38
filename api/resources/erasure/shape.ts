import { z } from 'zod';
import type { Erased } from '../../../src/operations/erasure/index.ts';
import { instant } from '../../http/fields.ts';

const counts = z.record(z.string(), z.int());
export const Receipt = z.strictObject({
  /** Null for a dry run. */
  id: z.string().nullable(),
  kind: z.enum(['user', 'org']),
  state: z.enum(['dry_run', 'done', 'waiting']),
  deleted: counts,
  anonymized: counts,
  objects: z.strictObject({ removed: z.int(), kept: counts }),
  left: counts,
  createdAt: instant.nullable(),
});

export const presentReceipt = ({ createdAt, ...erased }: Erased): z.input<typeof Receipt> => ({
  ...erased,
  createdAt: createdAt?.toISOString() ?? null,
});
