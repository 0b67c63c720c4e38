import type { ApiKeyRow, MemberKeyRow } from './api-keys.ts';
import type { SessionRow } from './sessions.ts';

export const presentApiKey = (row: ApiKeyRow) => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
});

export const presentMemberKey = (row: MemberKeyRow) => ({ ...presentApiKey(row), user: { id: row.userId, email: row.userEmail, name: row.userName } });

export const presentSession = (row: SessionRow, currentId: string | undefined) => ({
  id: row.id,
  userAgent: row.userAgent,
  ip: row.ip,
  lastUsedAt: row.lastUsedAt.toISOString(),
  createdAt: row.createdAt.toISOString(),
  current: row.id === currentId,
});
