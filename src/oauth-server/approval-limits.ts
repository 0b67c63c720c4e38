import { findProgramLimits, type ProgramLimits, writeProgramLimits } from '../entitlements/index.ts';
import { type AuditActor, writeAudit } from '../platform/audit/index.ts';
import type { Database } from '../platform/db/index.ts';
import { notFound } from '../platform/kernel/index.ts';
import { lockApproval } from './store.ts';

/** What the apps that a person approved may do at most, by the id of the approval. */
export interface ApprovalLimits {
  /** Throws `not_found` for an approval of somebody else. */
  find(orgId: string, userId: string, id: string): Promise<ProgramLimits>;
  /** Changes them: at once for whoever asks this process, and within a second elsewhere. Throws as `find`. */
  change(orgId: string, by: AuditActor & { userId: string }, id: string, limits: ProgramLimits): Promise<ProgramLimits>;
}

export const openApprovalLimits = ({ sql, forgetAll }: { sql: Database; forgetAll: () => void }): ApprovalLimits => ({
  find: (orgId, userId, id) =>
    sql.begin(async (tx) => {
      if (!(await lockApproval(tx, orgId, userId, id))) throw notFound();
      return findProgramLimits(tx, orgId, id);
    }),

  async change(orgId, by, id, limits) {
    await sql.begin(async (tx) => {
      if (!(await lockApproval(tx, orgId, by.userId, id))) throw notFound();
      await writeProgramLimits(tx, orgId, { kind: 'authorization', id }, limits);
      await writeAudit(tx, by, {
        orgId,
        action: 'oauth_authorization.limits_changed',
        resource: 'oauth_apps',
        resourceId: id,
        detail: { ...limits },
      });
    });
    forgetAll();
    return limits;
  },
});
