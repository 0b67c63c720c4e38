import { type AuditActor, changeAuditLog, writeAudit } from '../../platform/audit/index.ts';
import type { Accounts } from '../../people/auth/index.ts';
import type { Identity } from '../../people/identity/index.ts';
import type { Organizations } from '../../people/organizations/index.ts';
import { countCascade, type Database, deleteKeysOfUser, type Sql } from '../../platform/db/index.ts';
import { AppError, bind, isId, newId, notFound, sha256 } from '../../platform/kernel/index.ts';
import * as store from './store.ts';

export interface ErasureDeps {
  sql: Database;
  accounts: Pick<Accounts, 'end'>;
  identity: Pick<Identity, 'erase' | 'ownedAloneWithin'>;
  organizations: Pick<Organizations, 'end' | 'erase'>;
}
/** Who is to be erased, and why; the reason is kept. */
export interface ErasureRequest {
  kind: 'user' | 'org';
  id: string;
  reason: string;
  /** Only answers what would be erased. */
  dryRun: boolean;
}
/**
 * `waiting`: the organization goes by the hourly sweep, once the payment processor was told; one with very many rows goes
 * that way, too.
 */
export interface Erased extends store.ErasedCounts {
  id: string | null;
  kind: 'user' | 'org';
  state: 'dry_run' | 'done' | 'waiting';
  createdAt: Date | null;
}

/** Undoes a dry run. */
class DryRun extends Error {
  readonly counts: store.ErasedCounts;
  constructor(counts: store.ErasedCounts) {
    super('nothing is written');
    this.counts = counts;
  }
}

/**
 * Erases a user or an organization at once, in one commit with its receipt; asked again it answers the receipt.
 * @throws AppError `not_found`; `conflict` for the last owner of an organization with other members, and for the last
 *   super-admin
 */
async function erase(deps: ErasureDeps, by: AuditActor & { userId: string }, asked: ErasureRequest): Promise<Erased> {
  const { sql } = deps;
  const { kind, id, reason, dryRun } = asked;
  if (!isId(id)) throw notFound();
  const subjectHash = sha256(id);
  const known = await store.findReceipt(sql, subjectHash);
  if (known && !(kind === 'user' && (await store.isUser(sql, id)))) return receiptOf(deps, known, id); // a backup may bring a user back
  let afterCommit = () => {};
  try {
    const row = await changeAuditLog(sql, async (tx) => {
      const acts = { tx, by, dryRun, onCommit: (act: () => void) => (afterCommit = act) };
      const counts = kind === 'user' ? await eraseUser(deps, acts, id) : await eraseOrganization(deps, acts, id);
      if (dryRun) throw new DryRun(counts);
      const receipt = { id: newId(), kind, subjectHash, byUser: by.userId, reason, counts };
      await writeAudit(tx, by, {
        orgId: null,
        action: `${kind}.erased`,
        resource: 'instance',
        resourceId: receipt.id,
        detail: { reason },
      });
      return store.insertReceipt(tx, receipt);
    });
    afterCommit();
    return receiptOf(deps, row, id);
  } catch (error) {
    if (error instanceof DryRun) return { id: null, kind, state: 'dry_run', createdAt: null, ...error.counts };
    const other = await store.findReceipt(sql, subjectHash); // of somebody who asked at the same time
    if (!other) throw error;
    return receiptOf(deps, other, id);
  }
}

async function receiptOf(
  { sql }: ErasureDeps,
  { id, kind, counts, createdAt }: store.ReceiptRow,
  subjectId: string,
): Promise<Erased> {
  const isWaiting = kind === 'org' && (await store.isOrganization(sql, subjectId));
  return { id, kind, state: isWaiting ? 'waiting' : 'done', createdAt, ...counts };
}

interface Acts {
  tx: Sql;
  by: AuditActor;
  dryRun: boolean;
  /** What the process does once it is committed. */
  onCommit(act: () => void): void;
}

/** The account, what hangs on it, and the organizations that nobody else belongs to. */
async function eraseUser(deps: ErasureDeps, { tx, by, onCommit }: Acts, userId: string): Promise<store.ErasedCounts> {
  const { accounts, identity, organizations } = deps;
  const user = await store.lockUser(tx, userId);
  if (!user) throw notFound();
  const isInUse = user.deletedAt === null;
  if (isInUse)
    for (const { id } of await identity.ownedAloneWithin(tx, userId))
      await organizations.end(tx, id, by, { own: false });
  const orgIds = await store.organizationsOfOnly(tx, userId);
  const counts = await countOrganizations(tx, orgIds);
  for (const orgId of orgIds) await organizations.erase(tx, orgId);
  add(counts.deleted, await countCascade(tx, 'users', tx`id = ${userId}`));
  add(counts.deleted, { idempotency_keys: await deleteKeysOfUser(tx, userId) });
  if (isInUse) onCommit(await accounts.end(tx, by, userId));
  const { deleted, anonymized } = await identity.erase(tx, userId);
  add(counts.deleted, deleted);
  add(counts.anonymized, anonymized);
  counts.left = await store.findLeft(tx, user.email);
  return counts;
}

async function eraseOrganization(
  { organizations }: ErasureDeps,
  { tx, by, dryRun }: Acts,
  orgId: string,
): Promise<store.ErasedCounts> {
  if (!(await (dryRun ? store.isOrganization(tx, orgId) : store.lockOrganization(tx, orgId)))) throw notFound();
  // somebody else asked while this one waited for the lock: that receipt is answered
  if (!dryRun && (await store.findReceipt(tx, sha256(orgId)))) throw new AppError('conflict', 'It is erased already');
  const counts = await countOrganizations(tx, [orgId]);
  if (dryRun) return counts; // its rows may be millions
  await organizations.end(tx, orgId, by, { own: true });
  await organizations.erase(tx, orgId);
  return counts;
}

async function countOrganizations(tx: Sql, orgIds: readonly string[]): Promise<store.ErasedCounts> {
  const counts: store.ErasedCounts = { deleted: {}, anonymized: {}, objects: { removed: 0, kept: {} }, left: {} };
  if (orgIds.length === 0) return counts;
  counts.deleted = await countCascade(tx, 'organizations', tx`id = any(${[...orgIds]}::uuid[])`);
  for (const { storage, own, n } of await store.countObjects(tx, orgIds))
    if (own) counts.objects.kept[storage] = n;
    else counts.objects.removed += n;
  return counts;
}

function add(sums: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [name, n] of Object.entries(more)) if (n > 0) sums[name] = (sums[name] ?? 0) + n;
}

/** Erasure of people and organizations by an operator. */
export const openErasure = (deps: ErasureDeps) => bind(deps, { erase });
export type Erasure = ReturnType<typeof openErasure>;
