import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import { revokeEverySession, revokeSessions } from '../../people/auth/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { lockSuperAdmins } from '../../people/identity/index.ts';
import { AppError, notFound, type RowPage, pageOf } from '../../platform/kernel/index.ts';
import type { AskedOrgs } from './orgs.ts';
import * as store from './user-store.ts';

export interface AdminUsers {
  list(asked: AskedOrgs): Promise<RowPage<store.UserRow>>;
  /**
   * Whoever is not activated is logged out, none of their keys works, and no mail activates them again. 409 for the
   * last super-admin.
   */
  change(by: AuditActor, userId: string, change: store.UserChange): Promise<store.UserRow>;
  /** Ends the sessions of a user; answers how many. Keys stay. */
  endSessions(by: AuditActor, userId: string): Promise<number>;
  /** Ends the sessions of everybody, but for the one that asks. */
  endAllSessions(by: AuditActor, sessionId: string): Promise<number>;
}

export function openAdminUsers({ sql }: { sql: Database }): AdminUsers {
  return {
    list: async ({ search, cursor, limit }) =>
      pageOf(await store.listUsers(sql, { search, before: cursor, limit: limit + 1 }), limit),

    change: (by, userId, change) =>
      sql.begin(async (tx) => {
        if (change.activated === false || change.isSuperAdmin === false) {
          const admins = await lockSuperAdmins(tx, userId);
          if (admins.length === 1 && admins[0] === userId)
            throw new AppError('conflict', 'This is the last super-admin: make another one first');
        }
        const before = await store.findUser(tx, userId);
        if (!before) throw notFound();
        await store.updateUser(tx, userId, change);
        if (change.activated === false) await revokeSessions(tx, userId);
        const changed = (name: keyof store.UserChange) => change[name] !== undefined && change[name] !== before[name];
        const detail = {
          ...((changed('activated') || change.activated === false) && { activated: change.activated! }), // who never activated is locked out, too
          ...(changed('isSuperAdmin') && { isSuperAdmin: change.isSuperAdmin! }),
        };
        if (Object.keys(detail).length > 0)
          await writeAudit(tx, by, {
            orgId: null,
            action: 'user.changed',
            resource: 'user',
            resourceId: userId,
            detail,
          });
        return (await store.findUser(tx, userId))!;
      }),

    endSessions: (by, userId) =>
      sql.begin(async (tx) => {
        if (!(await store.findUser(tx, userId))) throw notFound();
        const sessions = await revokeSessions(tx, userId);
        await writeAudit(tx, by, {
          orgId: null,
          action: 'user.sessions_ended',
          resource: 'user',
          resourceId: userId,
          detail: { sessions },
        });
        return sessions;
      }),

    endAllSessions: (by, sessionId) =>
      sql.begin(async (tx) => {
        const sessions = await revokeEverySession(tx, sessionId);
        await writeAudit(tx, by, {
          orgId: null,
          action: 'instance.sessions_ended',
          resource: 'instance',
          resourceId: null,
          detail: { sessions },
        });
        return sessions;
      }),
  };
}
