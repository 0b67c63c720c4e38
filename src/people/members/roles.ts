import { isSystemRole, type Permission } from '../access/index.ts';
import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { AppError, fieldError, isId, newId, notFound } from '../../platform/kernel/index.ts';
import { withLockedMembership, type MembersDeps } from './locked-membership.ts';
import { isSystemName } from './role-names.ts';
import type { RoleRow } from './role-store.ts';
import * as store from './role-store.ts';
import { forbidden, mayGrant, MOST_ROLES, type MemberRights } from './rules.ts';

export interface RoleInput {
  name: string;
  permissions: readonly Permission[];
}
/** Roles of an org's own (S48). What a role grants holds for its members at once. */
export interface Roles {
  list(orgId: string): Promise<readonly RoleRow[]>;
  create(orgId: string, by: AuditActor, role: RoleInput): Promise<RoleRow>;
  change(
    orgId: string,
    by: AuditActor,
    id: string,
    change: { name?: string | undefined; permissions?: readonly Permission[] | undefined },
  ): Promise<RoleRow>;
  /** 409 while somebody has it. */
  remove(orgId: string, by: AuditActor, id: string): Promise<void>;
}

const taken = () =>
  new AppError('conflict', 'Another role has this name', {
    errors: [fieldError('name', 'is the name of another role', 'taken')],
  });
const distinct = (permissions: readonly Permission[]): Permission[] => [...new Set(permissions)].toSorted();

export function openRoles(deps: MembersDeps): Roles {
  const note = (
    tx: Sql,
    orgId: string,
    by: AuditActor,
    action: string,
    { id, name, permissions }: RoleRow,
    detail = {},
  ) =>
    writeAudit(tx, by, { orgId, action, resource: 'roles', resourceId: id, detail: { name, permissions, ...detail } });

  /** The role, when whoever acts holds as much as it grants. */
  async function within(tx: Sql, orgId: string, me: MemberRights, id: string): Promise<RoleRow> {
    const role = await store.findRole(tx, orgId, id);
    if (!role) throw notFound();
    mayGrant(me, role.permissions);
    return role;
  }
  const own = (id: string) => {
    if (isSystemRole(id)) throw forbidden('System roles cannot be changed');
    if (!isId(id)) throw notFound();
  };

  return {
    list: (orgId) => store.listRoles(deps.sql, orgId),

    create: (orgId, by, { name, permissions }) =>
      withLockedMembership(deps, orgId, by, 'roles:create', async (tx, me) => {
        mayGrant(me, permissions);
        if (isSystemName(name)) throw taken();
        if ((await store.countRoles(tx, orgId)) >= MOST_ROLES)
          throw new AppError('invalid_request', `At most ${MOST_ROLES} roles are possible: delete one first`);
        const role = { id: newId(), name, permissions: distinct(permissions) };
        if (!(await store.insertRole(tx, orgId, role))) throw taken();
        await note(tx, orgId, by, 'role.created', role);
        return role;
      }),

    async change(orgId, by, id, { name, permissions }) {
      own(id);
      return withLockedMembership(deps, orgId, by, 'roles:update', async (tx, me) => {
        const before = await within(tx, orgId, me, id);
        if (permissions) mayGrant(me, permissions);
        if (name !== undefined && isSystemName(name)) throw taken();
        const role = {
          id,
          name: name ?? before.name,
          permissions: permissions ? distinct(permissions) : before.permissions,
        };
        if (!(await store.updateRole(tx, orgId, role))) throw taken();
        await note(tx, orgId, by, 'role.updated', role, {
          before: { name: before.name, permissions: before.permissions },
        });
        return role;
      });
    },

    async remove(orgId, by, id) {
      own(id);
      await withLockedMembership(deps, orgId, by, 'roles:delete', async (tx, me) => {
        const role = await within(tx, orgId, me, id);
        if (await store.isUsed(tx, orgId, id))
          throw new AppError('conflict', 'Members or open invitations have this role: give them another one first');
        await store.deleteRole(tx, orgId, id);
        await note(tx, orgId, by, 'role.deleted', role);
      });
    },
  };
}
