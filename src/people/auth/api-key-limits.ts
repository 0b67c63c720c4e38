import { findProgramLimits, type ProgramLimits, writeProgramLimits } from '../../entitlements/index.ts';
import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { AppError, notFound } from '../../platform/kernel/index.ts';
import { findKey, keyForUpdate } from './api-key-store.ts';

interface KeyLimitsDeps {
  sql: Database;
  holders: { forget(keyHash: string): void };
}
/** A key of one user, or without one of anybody in the organization. */
interface KeyOf {
  id: string;
  userId?: string;
}

/**
 * Finds what a key may do at most.
 * @throws AppError `not_found` for a key of somebody else
 */
export async function findKeyLimits(
  { sql }: Pick<KeyLimitsDeps, 'sql'>,
  orgId: string,
  { id, userId }: KeyOf,
): Promise<ProgramLimits> {
  if (!(await findKey(sql, orgId, id, userId))) throw notFound();
  return findProgramLimits(sql, orgId, id);
}

/**
 * Changes what a key may do at most: at once for whoever asks this process, and within a second elsewhere.
 * @throws AppError `not_found` for a key of somebody else, `conflict` for one that is revoked
 */
export async function changeKeyLimits(
  deps: KeyLimitsDeps,
  orgId: string,
  by: AuditActor,
  { id, userId }: KeyOf,
  limits: ProgramLimits,
): Promise<ProgramLimits> {
  const keyHash = await deps.sql.begin(async (tx) => {
    const key = await keyForUpdate(tx, orgId, id, userId);
    if (!key) throw notFound();
    if (key.revoked) throw new AppError('conflict', 'This API key is revoked already');
    await writeProgramLimits(tx, orgId, { kind: 'api-key', id }, limits);
    const detail = { name: key.name, prefix: key.prefix, userId: key.userId, ...limits };
    await writeAudit(tx, by, {
      orgId,
      action: 'api_key.limits_changed',
      resource: 'api_keys',
      resourceId: id,
      detail,
    });
    return key.keyHash;
  });
  deps.holders.forget(keyHash.toString('hex'));
  return limits;
}
