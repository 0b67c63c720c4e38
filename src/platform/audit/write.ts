import { z } from 'zod';
import type { Json, Sql } from '../db/index.ts';

/** The audit actor: who does something, and from where; in this form it travels to actors, too. */
export const AuditActor = z.strictObject({
  /** Null where nobody is logged in or a client acts. */
  userId: z.string().nullable(),
  /** The super-admin who acts as the user (S212). */
  impersonatorId: z.string().nullable(),
  ip: z.string().nullable(),
});
export type AuditActor = z.output<typeof AuditActor>;

export interface AuditNote {
  /** Null: an act on the whole instance. */
  orgId: string | null;
  /** Noun and participle: `api_key.created`. */
  action: string;
  /** One of the 18 resources, or `user`, `session`, `instance`. */
  resource: string;
  resourceId?: string | null | undefined;
  /**
   * A description of the change, for people. Never a secret, never the text of a post, never the name or address of a
   * person: ids name people.
   */
  detail?: Readonly<Record<string, Json>>;
}

/**
 * Writes into the caller's transaction: the note stands exactly when the act does. An org that is not there is not
 * named: somebody may ask for its log.
 */
export const writeAudit = (
  sql: Sql,
  by: AuditActor,
  { orgId, action, resource, resourceId = null, detail = {} }: AuditNote,
) => sql`
  insert into audit_log (org_id, user_id, impersonator_id, ip, action, resource, resource_id, detail)
  values ((select id from organizations where id = ${orgId}::uuid), ${by.userId}, ${by.impersonatorId}, ${by.ip},
    ${action}, ${resource}, ${resourceId}, ${sql.json(detail)})`;
