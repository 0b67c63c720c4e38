import { z } from 'zod';
import type { ApiKeyRow, MemberKeyRow } from '../../../src/people/auth/index.ts';
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
export const MemberKey = ApiKey.extend({ user: z.object({ id: z.string(), email: z.string(), name: z.string() }) });

export const presentApiKey = (row: ApiKeyRow): z.input<typeof ApiKey> => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
});

export const presentMemberKey = (row: MemberKeyRow): z.input<typeof MemberKey> => ({
  ...presentApiKey(row),
  user: { id: row.userId, email: row.userEmail, name: row.userName },
});
