import { isSystemRole, type Permission, permissionsOf } from '../access/index.ts';
import type { AuditActor } from '../../platform/audit/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { invalidField, isId, newId, notFound } from '../../platform/kernel/index.ts';
import { roleName } from './role-names.ts';
import { findRole } from './role-store.ts';
import { type GivenRole, heldBy, lacks, type NamedRole, namedRole, type MemberRights } from './rules.ts';
import * as store from './store.ts';

export interface MembersDeps {
  sql: Database;
  /** Locks the counters of an org and admits seats. */
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
}

/**
 * A transaction in which the rights of an org stand still: one at a time for each org, and what the caller holds is
 * read behind the lock, so that of two who take each other's rights at the same moment exactly one succeeds.
 */
export async function withLockedMembership<R>(
  { sql, billing }: MembersDeps,
  orgId: string,
  by: AuditActor,
  permission: Permission | undefined,
  act: (tx: Sql, me: MemberRights) => Promise<R>,
): Promise<R> {
  const results: R[] = [];
  await sql.begin(async (tx) => {
    await billing.lockOrg(tx, orgId); // counters before members, as everybody locks them
    if (!(await store.lockOrgRow(tx, orgId))) throw notFound();
    const me = by.userId === null ? undefined : await store.findMemberRights(tx, orgId, by.userId);
    if (!me || me.disabled) throw notFound();
    if (permission && !heldBy(me).has(permission)) throw lacks(permission);
    results.push(await act(tx, me));
  });
  return results[0]!;
}

/** A role by its key; undefined when the org has none such. */
export async function roleByKey(sql: Sql, orgId: string, key: string): Promise<GivenRole | undefined> {
  if (isSystemRole(key)) return { key, name: roleName(key, null), permissions: permissionsOf(key, false) };
  const row = isId(key) ? await findRole(sql, orgId, key) : undefined;
  return row && { key, name: row.name, permissions: permissionsOf(key, false, row.permissions) };
}

/** The role that a body names; 400 with its field for one that this org does not have (S269). */
export async function givenRole(sql: Sql, orgId: string, body: NamedRole): Promise<GivenRole | undefined> {
  const named = namedRole(body);
  if (!named) return undefined;
  const role = await roleByKey(sql, orgId, named.key);
  if (!role) throw invalidField(named.field, 'no such role', 'unknown_id');
  return role;
}

/** Takes a membership away with all that hangs on it; the user keeps at least one org. */
export async function takeAway(tx: Sql, orgId: string, userId: string): Promise<void> {
  await ownOrgs(tx, await store.lockMembersOfOnly(tx, orgId, userId));
  await store.deleteMember(tx, orgId, userId);
}
export async function ownOrgs(tx: Sql, people: readonly { id: string; timezone: string }[]): Promise<void> {
  if (people.length > 0)
    await store.insertOwnOrgs(
      tx,
      people.map(({ id, timezone }) => ({ orgId: newId(), userId: id, timezone })),
    );
}
