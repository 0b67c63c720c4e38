import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { AuthTokens } from '../../people/auth/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, isId, newId, notFound } from '../../platform/kernel/index.ts';
import * as store from './impersonation-store.ts';

/** The super-admin in this session. */
export interface Impersonator {
  userId: string;
  sessionId: string;
}

/** A super-admin acts as a user for an hour (S212). It lasts no longer than the session in which it began. */
export interface Impersonations {
  /** In the place of the one that the session acts in, which ends. */
  begin(
    by: AuditActor,
    admin: Impersonator,
    asked: { userId: string; reason: string },
  ): Promise<{ userId: string; email: string; token: string; expiresAt: Date }>;
  end(by: AuditActor, admin: Impersonator): Promise<void>;
  /**
   * Whom the token makes of this super-admin; throws `invalid_token` for one that is another's, over, or no token at
   * all.
   */
  authenticate(token: string, admin: Impersonator, wantedOrgs: readonly string[]): Promise<store.ActedAs>;
  /** Notes what is about to be done as somebody else. */
  note(by: AuditActor, orgId: string, act: { method: string; route: string }): Promise<void>;
}

export function openImpersonations({
  sql,
  tokens,
}: {
  sql: Database;
  tokens: Pick<AuthTokens, 'signImpersonation' | 'verifyImpersonation'>;
}): Impersonations {
  return {
    begin: async (by, { userId: adminId, sessionId }, { userId, reason }) => {
      const id = newId();
      const begun = await sql.begin(async (tx) => {
        await endNoted(tx, by, sessionId);
        const row = await store.begin(tx, { id, adminId, userId, sessionId, reason });
        if (!row)
          throw (await isSuperAdmin(tx, userId))
            ? new AppError('conflict', 'Nobody acts as a super-admin')
            : notFound();
        await writeAudit(tx, by, {
          orgId: null,
          action: 'impersonation.begun',
          resource: 'user',
          resourceId: userId,
          detail: { reason },
        });
        return row;
      });
      return {
        userId,
        ...begun,
        token: await tokens.signImpersonation({ sub: userId, act: adminId, sid: sessionId, jti: id }, begun.expiresAt),
      };
    },

    end: (by, { sessionId }) => sql.begin((tx) => endNoted(tx, by, sessionId)),

    async authenticate(token, { userId: adminId, sessionId }, wantedOrgs) {
      const claims = await tokens.verifyImpersonation(token);
      const found =
        claims?.act === adminId && claims.sid === sessionId
          ? await store.actedAs(sql, {
              id: claims.jti,
              adminId,
              userId: claims.sub,
              sessionId,
              wantedOrgs: wantedOrgs.filter(isId),
            })
          : undefined;
      if (!found) throw new AppError('invalid_token', 'You do not act as somebody else any longer');
      return found;
    },

    async note(by, orgId, act) {
      await writeAudit(sql, by, {
        orgId,
        action: 'impersonation.acted',
        resource: 'user',
        resourceId: by.userId,
        detail: act,
      });
    },
  };
}

async function endNoted(tx: Sql, by: AuditActor, sessionId: string): Promise<void> {
  for (const userId of await store.end(tx, sessionId))
    await writeAudit(tx, by, { orgId: null, action: 'impersonation.ended', resource: 'user', resourceId: userId });
}

async function isSuperAdmin(sql: Sql, userId: string): Promise<boolean> {
  return (await sql`select 1 from users where id = ${userId} and is_super_admin and deleted_at is null`).length > 0;
}
