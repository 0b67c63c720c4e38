import type { Permission } from '../access/index.ts';
import { isUniqueViolation, type Sql } from '../../platform/db/index.ts';

export interface RoleRow {
  id: string;
  name: string;
  permissions: Permission[];
}

export const listRoles = (sql: Sql, orgId: string) =>
  sql<RoleRow[]>`select id, name, permissions from roles where org_id = ${orgId} order by lower(name)`;

export async function findRole(sql: Sql, orgId: string, id: string): Promise<RoleRow | undefined> {
  const [row] = await sql<RoleRow[]>`select id, name, permissions from roles where org_id = ${orgId} and id = ${id}`;
  return row;
}

export async function countRoles(sql: Sql, orgId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from roles where org_id = ${orgId}`;
  return row!.count;
}

/** False: the name is taken. */
async function named(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (isUniqueViolation(error, 'roles_name')) return false;
    throw error;
  }
}
export const insertRole = (sql: Sql, orgId: string, { id, name, permissions }: RoleRow) =>
  named(sql`insert into roles (id, org_id, name, permissions) values (${id}, ${orgId}, ${name}, ${permissions})`);
export const updateRole = (sql: Sql, orgId: string, { id, name, permissions }: RoleRow) =>
  named(
    sql`
      update roles
      set name = ${name}, permissions = ${permissions}, updated_at = now()
      where org_id = ${orgId}
        and id = ${id}`,
  );

export const deleteRole = (sql: Sql, orgId: string, id: string) =>
  sql`delete from roles where org_id = ${orgId} and id = ${id}`;

/** Tells whether a member or an open invitation has the role. */
export async function isUsed(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const [row] = await sql<{ used: boolean }[]>`
    select exists (select 1 from memberships where org_id = ${orgId} and role_key = ${id})
      or exists (select 1
        from invitations
        where org_id = ${orgId}
          and role_key = ${id}
          and expires_at > now()) as used`;
  return row!.used;
}
