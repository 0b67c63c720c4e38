import { z } from 'zod';
import { instant } from '../../http/fields.ts';

export const ApiKey = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  expiresAt: instant.nullable(),
  revokedAt: instant.nullable(),
  lastUsedAt: instant.nullable(),
  createdAt: instant,
});
