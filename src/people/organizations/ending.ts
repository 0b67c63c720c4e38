import { type AuditActor, changeAuditLog, writeAudit } from '../../platform/audit/index.ts';
import { type Database, deleteInParts, isUnavailable, type Sql, tablesWithMany } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import { lockMembersOfOnly, ownOrgs } from '../members/index.ts';
import type { Endings } from './ports.ts';
import * as store from './store.ts';

/** The service itself. */
const NOBODY: AuditActor = { userId: null, impersonatorId: null, ip: null };
/** Rows of one table that go with an organization in one statement; what is more goes before, in commits of as many. */
export const MOST_ROWS = 5_000;
/** A run of the sweep begins no further part after so long: whether it is still this process's is looked at then. */
const RUN_MS = 30_000;

interface Payers {
  billing: Pick<Billing, 'enabled'>;
  log: Log;
}

/**
 * With billing off nobody tells the payment processor that an organization ends: the log says what is left there, for
 * operators to end it by hand.
 */
async function tellOperator({ billing, log }: Payers, tx: Sql, orgId: string): Promise<void> {
  if (billing.enabled) return;
  for (const { kind, subscription } of await store.findUntold(tx, orgId))
    log.error(
      { orgId, task: kind, subscription },
      'an organization ends while billing is off, and the payment processor is not told: see to it there',
    );
}

/**
 * Ends what is paid and the channels; then nobody may use it any more. `own`: members who belong nowhere else get an
 * organization of their own.
 */
export async function closeOrganization(
  { endSubscription, stopChannels, ...payers }: Pick<Endings, 'endSubscription' | 'stopChannels'> & Payers,
  tx: Sql,
  { id: orgId, name }: Pick<store.OrganizationRow, 'id' | 'name'>,
  { by, own }: { by: AuditActor; own: boolean },
): Promise<void> {
  await endSubscription(tx, orgId);
  await tellOperator(payers, tx, orgId);
  if (own) await ownOrgs(tx, await lockMembersOfOnly(tx, orgId));
  await stopChannels(tx, orgId, 'The organization was deleted');
  await store.deleteOrganization(tx, orgId);
  const done = { orgId, action: 'org.deleted', resource: 'settings', resourceId: orgId, detail: { name } };
  await writeAudit(tx, by, done);
}

/** Erases one that has ended, at once where it is not large; the sweep does what is left. */
export async function eraseOrganization(
  deps: Pick<Endings, 'forgetBackground'> & Payers,
  tx: Sql,
  orgId: string,
): Promise<void> {
  await store.markErased(tx, orgId);
  if ((await tablesWithMany(tx, orgId, MOST_ROWS)).length === 0) await dropOrganization(deps, tx, orgId);
}

/**
 * Deletes at most `limit` that are due; answers how many, or `limit` where it stopped before that was done. One that
 * cannot be deleted now holds up no other.
 */
export async function dropOrganizations(
  { sql, clock, ...deps }: Pick<Endings, 'forgetBackground'> & Payers & { sql: Database; clock: Clock },
  limit: number,
): Promise<number> {
  const { log, billing } = deps;
  const since = clock.monotonic();
  const mayGoOn = () => clock.monotonic() - since < RUN_MS;
  const inPart = (work: (tx: Sql) => Promise<number>) => changeAuditLog(sql, work); // its own entries go, too
  const left: string[] = [];
  for (let dropped = 0; dropped < limit;) {
    const orgId = await store.findRemoved(sql, { left, billingEnabled: billing.enabled });
    if (orgId === undefined) return dropped;
    try {
      if (!(await deleteInParts(sql, orgId, MOST_ROWS, { mayGoOn, inPart }))) return limit;
      if (await sql.begin((tx) => dropOrganization(deps, tx, orgId))) dropped += 1;
      else left.push(orgId); // somebody holds it, or was faster
    } catch (error) {
      if (isUnavailable(error)) throw error;
      log.warn({ err: error, orgId }, 'a removed organization could not be deleted, tried again');
      left.push(orgId);
    }
  }
  return limit;
}

/** Deletes the rows of one, if it is due and nobody holds it: else false. */
async function dropOrganization(
  { forgetBackground, ...payers }: Pick<Endings, 'forgetBackground'> & Payers,
  tx: Sql,
  orgId: string,
): Promise<boolean> {
  await tellOperator(payers, tx, orgId);
  if (!(await store.dropRemoved(tx, orgId, payers.billing.enabled))) return false;
  await forgetBackground(tx, orgId);
  const done = { orgId: null, action: 'org.purged', resource: 'settings', resourceId: orgId, detail: {} };
  await writeAudit(tx, NOBODY, done);
  return true;
}
