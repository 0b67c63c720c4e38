import { z } from 'zod';
import type { SessionRow } from '../../../src/people/auth/index.ts';
import { instant } from '../../http/fields.ts';

export const Session = z.object({
  id: z.string(),
  userAgent: z.string(),
  ip: z.string(),
  lastUsedAt: instant,
  createdAt: instant,
  current: z.boolean(),
});

export const presentSession = (row: SessionRow, currentId: string | undefined): z.input<typeof Session> => ({
  id: row.id,
  userAgent: row.userAgent,
  ip: row.ip,
  lastUsedAt: row.lastUsedAt.toISOString(),
  createdAt: row.createdAt.toISOString(),
  current: row.id === currentId,
});
