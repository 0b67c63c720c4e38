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

/** For the description of each route that changes limits. */
export const LIMITS =
  'What it may do at most, `null` for as much as its owner: `requestsPerHour` and `postsPerDay` are refused with 429 beyond, `aiCentsPerDay` with 402 `ai_budget`. Days are those of UTC, and what was used before there was a limit does not count.';
const most = (limit: number) => z.int().min(0).max(limit).nullable();
/** What a program may do at most; null: as much as its owner. Days are those of UTC. */
export const ProgramLimits = z.strictObject({
  requestsPerHour: z.int().min(1).max(1_000_000).nullable(),
  postsPerDay: most(1_000_000),
  aiCentsPerDay: most(100_000_000),
});
export const presentLimits = ({
  requestsPerHour,
  postsPerDay,
  aiCentsPerDay,
}: z.input<typeof ProgramLimits>): z.input<typeof ProgramLimits> => ({ requestsPerHour, postsPerDay, aiCentsPerDay });

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
