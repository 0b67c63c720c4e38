import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Json, Sql } from '../../platform/db/index.ts';
import { AppError, type Clock, invalidField, newId, notFound } from '../../platform/kernel/index.ts';
import { hasOtherMembers, withLockedMembership, forbidden, type MembersDeps } from '../members/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import { closeOrganization, dropOrganizations, eraseOrganization } from './ending.ts';
import { type McpPolicies, openMcpPolicies } from './mcp-policy.ts';
import type { Endings } from './ports.ts';
import { type Settings, type SettingsChange, orgSettingsOf } from './rules.ts';
import * as store from './store.ts';

/** Organizations themselves: their making, name, settings and end. */
export interface Organizations extends McpPolicies {
  /** 400 for who owns as many as one may. */
  create(by: AuditActor & { userId: string }, name: string): Promise<store.OrganizationRow>;
  get(orgId: string): Promise<store.OrganizationRow>;
  update(
    orgId: string,
    by: AuditActor,
    change: { name?: string | undefined; timezone?: string | undefined },
  ): Promise<store.OrganizationRow>;
  /**
   * Takes it out of use: nothing of it is published, no credential opens it. `confirm` must be its name. For owners.
   */
  remove(orgId: string, by: AuditActor, confirm: string): Promise<void>;
  /**
   * The same for an owner whose account ends; nothing where others belong to it by now: it goes on with them, or keeps
   * its last owner (S43).
   */
  removeWithOwner(orgId: string, by: AuditActor & { userId: string }): Promise<void>;
  /**
   * Deletes for ever what was removed 30 days ago, at most `limit` orgs, each in a commit of its own; answers how many.
   * Of a large one some rows at a time go before; `limit` is answered where there is more to do. One that cannot be
   * deleted holds up no other.
   */
  dropRemoved(limit: number): Promise<number>;
  /**
   * Takes it out of use on the word of an operator, in the caller's transaction; nothing where it is already. `own`:
   * members who belong nowhere else get an organization of their own.
   */
  end(transaction: Sql, orgId: string, by: AuditActor, options: { own: boolean }): Promise<void>;
  /**
   * Deletes one that has ended without waiting 30 days, in the caller's transaction; where the payment processor has to
   * be told first, and where there are many rows, the sweep does it.
   */
  erase(transaction: Sql, orgId: string): Promise<void>;
  settings(orgId: string): Promise<Settings>;
  /** Fields that are absent keep their value. */
  changeSettings(
    orgId: string,
    by: AuditActor,
    change: SettingsChange & { timezone?: string | undefined },
  ): Promise<store.OrganizationRow>;
}

interface Options extends MembersDeps, Endings {
  billing: MembersDeps['billing'] & Pick<Billing, 'enabled'>;
  /** Organizations that one person may own. */
  mostOwned: number;
  providers: Pick<Providers, 'list'>;
  clock: Clock;
  log: Log;
}

const known = <T>(row: T | undefined): T => {
  if (row === undefined) throw notFound();
  return row;
};
const given = (change: Record<string, unknown>): Record<string, Json> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Record<string, Json>;

export function openOrganizations({ mostOwned, providers, clock, log, ...deps }: Options): Organizations {
  const { sql } = deps;
  /** Writes the change and the note of it in one commit. */
  async function write(
    orgId: string,
    by: AuditActor,
    action: string,
    change: Parameters<typeof store.updateOrganization>[2],
    detail: Record<string, unknown>,
  ) {
    const rows: store.OrganizationRow[] = [];
    await sql.begin(async (tx) => {
      rows.push(known(await store.updateOrganization(tx, orgId, change)));
      await writeAudit(tx, by, { orgId, action, resource: 'settings', resourceId: orgId, detail: given(detail) });
    });
    return rows[0]!;
  }

  return {
    async create(by, name) {
      const rows: store.OrganizationRow[] = [];
      await sql.begin(async (tx) => {
        if ((await store.countOwned(tx, by.userId)) >= mostOwned)
          throw new AppError(
            'invalid_request',
            `You own ${mostOwned} organizations, which is the most: delete one first, or hand one over`,
          );
        const org = await store.insertOrganization(tx, newId(), by.userId, name);
        await writeAudit(tx, by, {
          orgId: org.id,
          action: 'org.created',
          resource: 'settings',
          resourceId: org.id,
          detail: { name },
        });
        rows.push(org);
      });
      return rows[0]!;
    },

    get: async (orgId) => known(await store.findOrganization(sql, orgId)),
    update: (orgId, by, { name, timezone }) =>
      write(orgId, by, 'org.updated', { name: name ?? null, timezone: timezone ?? null }, { name, timezone }),

    remove: (orgId, by, confirm) =>
      withLockedMembership(deps, orgId, by, 'settings:manage', async (tx, me) => {
        if (me.roleKey !== 'owner' && !me.isSuperAdmin) throw forbidden('Only an owner may delete the organization');
        if (known(await store.findOrganization(tx, orgId)).name !== confirm)
          throw invalidField('confirm', 'must be the name of the organization', 'invalid_value');
        await closeOrganization({ ...deps, log }, tx, { id: orgId, name: confirm }, { by, own: true });
      }),

    removeWithOwner: (orgId, by) =>
      withLockedMembership(deps, orgId, by, undefined, async (tx, me) => {
        // behind the lock that whoever joins takes, too
        if (me.roleKey !== 'owner' || (await hasOtherMembers(tx, orgId, by.userId))) return;
        await closeOrganization({ ...deps, log }, tx, known(await store.findOrganization(tx, orgId)), {
          by,
          own: true,
        });
      }),

    async end(tx, orgId, by, { own }) {
      await deps.billing.lockOrg(tx, orgId); // counters before members, as everybody locks them
      const org = await store.findOrganization(tx, orgId);
      if (org) await closeOrganization({ ...deps, log }, tx, org, { by, own });
    },

    erase: (tx, orgId) => eraseOrganization({ ...deps, log }, tx, orgId),
    dropRemoved: (limit) => dropOrganizations({ ...deps, clock, log }, limit),

    settings: async (orgId) => orgSettingsOf(known(await store.findOrganization(sql, orgId))),

    async changeSettings(orgId, by, { timezone, ...settings }) {
      const provider = settings.defaultShortlinkProviderId;
      if (provider && !providers.list('shortlink').some(({ id }) => id === provider))
        throw invalidField('defaultShortlinkProviderId', 'no such shortlink provider', 'unknown_id');
      return write(
        orgId,
        by,
        'settings.updated',
        { timezone: timezone ?? null, settings: given(settings) },
        { timezone, ...settings },
      );
    },

    ...openMcpPolicies({ sql, clock, write }),
  };
}
