import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { membersOfOnly, ownOrgs } from '../members/index.ts';
import type { Endings } from './ports.ts';
import * as store from './store.ts';

/** The service itself. */
const NOBODY: AuditActor = { userId: null, impersonatorId: null, ip: null };

/**
 * Ends what is paid and the channels; then nobody may use it any more. `own`: members who belong nowhere else get an
 * organization of their own.
 */
export async function closeOrganization(
  { endSubscription, stopChannels }: Pick<Endings, 'endSubscription' | 'stopChannels'>,
  tx: Sql,
  { id: orgId, name }: Pick<store.OrganizationRow, 'id' | 'name'>,
  { by, own }: { by: AuditActor; own: boolean },
): Promise<void> {
  await endSubscription(tx, orgId);
  if (own) await ownOrgs(tx, await membersOfOnly(tx, orgId));
  await stopChannels(tx, orgId, 'The organization was deleted');
  await store.deleteOrganization(tx, orgId);
  const done = { orgId, action: 'org.deleted', resource: 'settings', resourceId: orgId, detail: { name } };
  await writeAudit(tx, by, done);
}

/** Deletes the rows of one that is due, or of the one with an id if it is; false: there is none. */
export async function dropOrganization(
  { forgetBackground }: Pick<Endings, 'forgetBackground'>,
  tx: Sql,
  only?: string,
): Promise<boolean> {
  const orgId = await store.dropRemoved(tx, only);
  if (orgId === undefined) return false;
  await forgetBackground(tx, orgId);
  const done = { orgId: null, action: 'org.purged', resource: 'settings', resourceId: orgId, detail: {} };
  await writeAudit(tx, NOBODY, done);
  return true;
}
