import { z } from 'zod';
import type { AuditRow } from '../../../src/platform/audit/index.ts';
import { type RowPage, pageOf } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import type { Call } from '../../http/route.ts';

export const AuditQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, 'take it from the page before')
    .optional(),
  /** A user, also as somebody else. */
  actor: z.string().max(100).optional(),
  action: z.string().max(100).optional(),
  credential: z
    .string()
    .max(100)
    .optional()
    .meta({ description: 'The id of an API key or of an approved app: what agents did by it.' }),
  format: z.enum(['json', 'csv']).default('json'),
});

type Reading = Pick<Call<'audit', unknown, z.output<typeof AuditQuery>>, 'rooms' | 'principal' | 'request' | 'query'>;
const noteReading = (
  { rooms, query: { actor, action, credential }, ...call }: Reading,
  orgId: string | null,
  done: 'read' | 'exported',
) =>
  rooms.audit.write(auditActor(call), {
    orgId,
    action: `audit_log.${done}`,
    resource: 'instance',
    detail: {
      ...(actor !== undefined && { actor }),
      ...(action !== undefined && { action }),
      ...(credential !== undefined && { credential }),
    },
  });

/**
 * A page of the log, of all orgs where `orgId` is null. Whoever reads it as a super-admin (`noted`) stands in it
 * afterwards.
 */
export async function auditPage(call: Reading, orgId: string | null, noted: boolean): Promise<RowPage<AuditRow>> {
  const { limit, cursor } = call.query;
  const page = pageOf(await call.rooms.audit.list(orgId, call.query, { limit: limit + 1, before: cursor }), limit);
  if (noted) await noteReading(call, orgId, 'read');
  return page;
}
/** The log as a file; that it was taken stands in it. */
export async function* auditFile(call: Reading, orgId: string | null): AsyncGenerator<string> {
  await noteReading(call, orgId, 'exported');
  yield* call.rooms.audit.csv(orgId, call.query);
}
