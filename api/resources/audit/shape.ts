import { z } from 'zod';
import type { AuditRow } from '../../../src/platform/audit/index.ts';
import { instant } from '../../http/fields.ts';

export const AuditEntry = z.strictObject({
  id: z.string(),
  at: instant,
  userId: z.string().nullable(),
  /** The super-admin who acted as the user. */
  impersonatorId: z.string().nullable(),
  ip: z.string().nullable(),
  action: z.string(),
  resource: z.string(),
  resourceId: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
});
export const AuditEntryOfInstance = AuditEntry.extend({ orgId: z.string().nullable() });

/** A line of the audit log (S270). */
export const presentAudit = ({
  id,
  at,
  userId,
  impersonatorId,
  ip,
  action,
  resource,
  resourceId,
  detail,
}: AuditRow): z.input<typeof AuditEntry> => ({
  id,
  at: at.toISOString(),
  userId,
  impersonatorId,
  ip,
  action,
  resource,
  resourceId,
  detail,
});
/** The same where the logs of all orgs are read. */
export const presentAuditOfInstance = (row: AuditRow): z.input<typeof AuditEntryOfInstance> => ({
  ...presentAudit(row),
  orgId: row.orgId,
});
