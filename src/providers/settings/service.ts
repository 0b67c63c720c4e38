import { z } from 'zod';
import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, type Clock, isId, newId, notFound, ProviderError, type Vault } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import {
  type AdapterOf,
  type AnyAdapter,
  knownDomain,
  type Lifecycle,
  type Providers,
  type Values,
} from '../registry/index.ts';
import type { Changes } from './changes.ts';
import { checkGroups, type Given, hintOf, merged, movedAddresses, type Owner, setupOf, split } from './rules.ts';
import * as store from './store.ts';

export interface NewSetting extends Given {
  domain: string;
  providerId: string;
  version?: string | undefined;
  name?: string | undefined;
  isDefault?: boolean | undefined;
  enabled?: boolean | undefined;
  allowPreview?: boolean | undefined;
}
export interface SettingChange extends Given {
  name?: string | undefined;
  isDefault?: boolean | undefined;
  enabled?: boolean | undefined;
}
export interface Tested {
  ok: boolean;
  message: string;
  latencyMs: number;
}
/** A row with what is only known beside it. */
export interface SettingView extends store.SettingRow {
  /** By secret field: whether it is set, and the end of it. */
  secrets: Readonly<Record<string, { set: boolean; hint: string | null }>>;
  status: Lifecycle;
  upgradeAvailable: string | null;
}
/** A setting in use, with the adapter of the version it is pinned to. */
export interface Configured<A extends AnyAdapter = AnyAdapter> {
  /** Id of the row. */
  id: string;
  adapter: A;
  name: string;
  values: Values;
}

/**
 * Settings of providers, of operators and organizations. Every write is judged by the same rules (S158): provider,
 * version, status, fields.
 */
export interface ProviderSettings {
  list(owner: Owner, domain?: string): Promise<readonly SettingView[]>;
  /** Creates a setting; without a version the newest active one is chosen and stored (S159). */
  create(owner: Owner, setting: NewSetting, by: AuditActor): Promise<SettingView>;
  /**
   * Changes a setting; an absent field stays, null clears it. A changed address deletes the secrets that are not given
   * again.
   */
  update(owner: Owner, id: string, change: SettingChange, by: AuditActor): Promise<SettingView>;
  /** Moves a setting to another version; nothing else does. */
  upgrade(
    owner: Owner,
    id: string,
    to: { version: string; allowPreview?: boolean | undefined },
    by: AuditActor,
  ): Promise<SettingView>;
  /** Removes a setting; 409 while something refers to it. */
  remove(owner: Owner, id: string, by: AuditActor): Promise<void>;
  /** Asks the provider; a refusal is an answer, not an error (S160). */
  test(owner: Owner, id: string): Promise<Tested>;
  tryOut(owner: Owner, setting: NewSetting): Promise<Tested>;
  /**
   * Answers the settings in use in a domain, by provider id: the default, else the oldest. Undefined: there are
   * settings, but none is enabled with a usable version. Read for each call, so that a change applies in every process
   * at once.
   */
  configured<D extends keyof AdapterOf>(
    owner: Owner,
    domain: D,
  ): Promise<ReadonlyMap<string, Configured<AdapterOf[D]> | undefined>>;
  /**
   * Answers the setting in use of a domain: the default of the owner, else the oldest that is enabled with a usable
   * version.
   */
  chosen<D extends keyof AdapterOf>(owner: Owner, domain: D): Promise<Configured<AdapterOf[D]> | undefined>;
  /** Answers a setting that a row refers to, enabled or not: 404 for another owner's, 410 `version_retired` (S161). */
  pinned<D extends keyof AdapterOf>(owner: Owner, domain: D, id: string): Promise<Configured<AdapterOf[D]>>;
}

interface Options {
  sql: Database;
  clock: Clock;
  vault: Vault;
  providers: Pick<Providers, 'resolve' | 'list' | 'status' | 'fields' | 'check'>;
  outbound: Pick<Outbound, 'judge'>;
  /** Used for settings of the instance. Default: `outbound`. */
  operatorOutbound?: Pick<Outbound, 'judge'>;
  changes?: Pick<Changes, 'tell'>;
}

const Secrets = z.record(z.string(), z.string());
const unknown = () => notFound('Setting not found');

export function openProviderSettings({
  sql,
  clock,
  vault,
  providers,
  outbound,
  operatorOutbound = outbound,
  changes = { tell: () => {} },
}: Options): ProviderSettings {
  const adapterOf = (row: Pick<store.SettingRow, 'domain' | 'providerId' | 'version'>): AnyAdapter | undefined =>
    providers
      .list()
      .find(({ domain, id, version }) => domain === row.domain && id === row.providerId && version === row.version);
  const newestOf = ({ domain, providerId }: store.SettingRow): AnyAdapter | undefined => {
    try {
      return providers.resolve(domain as keyof AdapterOf, providerId);
    } catch {
      return undefined; // none is active
    }
  };
  const sealed = (secrets: Values) => vault.seal(JSON.stringify(secrets));
  /** Opens the secrets. Those that the key of this deployment cannot open count as not set. */
  function valuesOf(row: store.SettingRow): Values {
    try {
      return { ...row.options, ...Secrets.parse(JSON.parse(vault.open(row.credentials))) };
    } catch {
      return row.options;
    }
  }

  /** Answers the complete, checked values of a row for this adapter. */
  function judge(adapter: AnyAdapter, owner: Owner, given: Given, kept?: Values): Values {
    const setup = setupOf(adapter, owner);
    const values = providers.fields({ credentials: setup.fields }, merged(setup, given, kept), 'credentials.');
    checkGroups(setup, values);
    for (const [name, { form }] of Object.entries(setup.fields))
      if (form && values[name]) judgeAddress(owner, name, values[name]);
    return values;
  }
  function judgeAddress(owner: Owner, name: string, address: string): void {
    try {
      (owner === null ? operatorOutbound : outbound).judge(address);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      throw error.ofField(`credentials.${name}`);
    }
  }

  function usable<D extends keyof AdapterOf>(row: store.SettingRow): Configured<AdapterOf[D]> | undefined {
    const adapter = adapterOf(row) as AdapterOf[D] | undefined;
    if (!row.enabled || adapter === undefined || providers.status(adapter) === 'retired') return undefined;
    return { id: row.id, adapter, name: row.name, values: valuesOf(row) };
  }

  function view(row: store.SettingRow): SettingView {
    const adapter = adapterOf(row);
    const newest = newestOf(row);
    const values = valuesOf(row);
    const fields = Object.entries(adapter?.setup?.fields ?? {}).filter(([, { secret }]) => secret);
    return {
      ...row,
      secrets: Object.fromEntries(
        fields.map(([name]) => [
          name,
          { set: Boolean(values[name]), hint: values[name] === undefined ? null : hintOf(name, values[name]) },
        ]),
      ),
      status: adapter ? providers.status(adapter) : 'retired',
      upgradeAvailable: newest && newest.version !== row.version ? newest.version : null,
    };
  }

  const note = (
    tx: Sql,
    by: AuditActor,
    owner: Owner,
    action: string,
    row: { id: string; domain: string; providerId: string },
    detail: Record<string, string | string[]> = {},
  ) =>
    writeAudit(tx, by, {
      orgId: owner,
      action,
      resource: 'providers',
      resourceId: row.id,
      detail: { domain: row.domain, providerId: row.providerId, ...detail },
    });

  const changed = (owner: Owner, { domain, providerId }: Pick<store.SettingRow, 'domain' | 'providerId'>) =>
    changes.tell(owner, { domain, id: providerId });

  /** Changes a row under its lock. */
  const change = async (
    owner: Owner,
    id: string,
    by: AuditActor,
    action: string,
    work: (row: store.SettingRow) => { row: store.SettingToInsert; detail?: Record<string, string | string[]> },
  ) => {
    const shown = await sql.begin(async (tx) => {
      const found = isId(id) ? await store.settingForUpdate(tx, owner, id) : undefined;
      if (!found) throw unknown();
      const { row, detail } = work(found);
      if (row.isDefault) await store.unsetDefault(tx, owner, row.domain, row.id);
      const written = await store.updateSetting(tx, owner, row);
      await note(tx, by, owner, action, row, detail);
      return view(written);
    });
    changed(owner, shown);
    return shown;
  };

  async function ask(owner: Owner, adapter: AnyAdapter, values: Values): Promise<Tested> {
    const started = clock.monotonic();
    const done = (ok: boolean, message: string): Tested => ({
      ok,
      message,
      latencyMs: Math.round(clock.monotonic() - started),
    });
    try {
      const asked = providers.check(adapter, values, owner);
      if (!asked) throw new AppError('invalid_request', `${adapter.title} cannot be asked`);
      return done(true, (await asked) ?? `${adapter.title} takes these settings`);
    } catch (error) {
      if (error instanceof ProviderError) return done(false, error.message);
      throw error;
    }
  }

  const resolve = ({ domain, providerId, version, allowPreview }: NewSetting) =>
    providers.resolve(knownDomain(domain) as keyof AdapterOf, providerId, { version, allowPreview });

  return {
    async list(owner, domain) {
      const rows = await store.settingsOf(sql, owner, domain === undefined ? undefined : knownDomain(domain));
      return rows.map(view);
    },

    async create(owner, setting, by) {
      const adapter = resolve(setting);
      const values = judge(adapter, owner, setting);
      const { plain, secrets } = split(setupOf(adapter, owner).fields, values);
      const row: store.SettingToInsert = {
        id: newId(),
        domain: adapter.domain,
        providerId: adapter.id,
        version: adapter.version,
        name: setting.name ?? adapter.title,
        isDefault: setting.isDefault ?? false,
        enabled: setting.enabled ?? true,
        options: plain,
        credentials: sealed(secrets),
      };
      return sql.begin(async (tx) => {
        if (row.isDefault) await store.unsetDefault(tx, owner, row.domain, row.id);
        const made = await store.insertSetting(tx, owner, row);
        await note(tx, by, owner, 'provider_setting.created', row, { version: row.version });
        return view(made);
      });
    },

    update: (owner, id, wanted, by) =>
      change(owner, id, by, 'provider_setting.updated', (row) => {
        const adapter = providers.resolve(row.domain as keyof AdapterOf, row.providerId, {
          version: row.version,
          use: 'pinned',
        });
        const { fields: declared } = setupOf(adapter, owner);
        const before = valuesOf(row);
        const kept = judge(adapter, owner, wanted, before);
        const addresses = movedAddresses(declared, before, kept);
        // After a change of an address the secrets must be given again: nobody can send one to their own server unread.
        const values = addresses.length > 0 ? judge(adapter, owner, wanted, split(declared, before).plain) : kept;
        const { plain, secrets } = split(declared, values);
        const { name = row.name, isDefault = row.isDefault, enabled = row.enabled } = wanted;
        const fields = [...Object.keys(wanted.credentials ?? {}), ...Object.keys(wanted.options ?? {})];
        return {
          row: { ...row, name, isDefault, enabled, options: plain, credentials: sealed(secrets) },
          detail: { fields, ...(addresses.length > 0 && { addresses }) },
        };
      }),

    upgrade: (owner, id, { version, allowPreview }, by) =>
      change(owner, id, by, 'provider_setting.upgraded', (row) => {
        const use = version === row.version ? 'pinned' : 'new';
        const adapter = providers.resolve(row.domain as keyof AdapterOf, row.providerId, {
          version,
          allowPreview,
          use,
        });
        const { plain, secrets } = split(setupOf(adapter, owner).fields, judge(adapter, owner, {}, valuesOf(row)));
        return {
          row: { ...row, version, options: plain, credentials: sealed(secrets) },
          detail: { from: row.version, to: version },
        };
      }),

    async remove(owner, id, by) {
      const removed = await sql.begin(async (tx) => {
        const row = isId(id) ? await store.deleteSetting(tx, owner, id) : undefined;
        if (!row) throw unknown();
        await note(tx, by, owner, 'provider_setting.deleted', { id, ...row });
        return row;
      });
      changed(owner, removed);
    },

    async test(owner, id) {
      const row = isId(id) ? await store.settingOf(sql, owner, id) : undefined;
      if (!row) throw unknown();
      const adapter = providers.resolve(row.domain as keyof AdapterOf, row.providerId, {
        version: row.version,
        use: 'pinned',
      });
      const tested = await ask(owner, adapter, judge(adapter, owner, {}, valuesOf(row)));
      await store.noteTest(sql, owner, row, tested.ok);
      return tested;
    },

    tryOut: async (owner, setting) => {
      const adapter = resolve(setting);
      return ask(owner, adapter, judge(adapter, owner, setting));
    },

    async configured<D extends keyof AdapterOf>(owner: Owner, domain: D) {
      const found = new Map<string, Configured<AdapterOf[D]> | undefined>();
      for (const row of await store.settingsOf(sql, owner, domain)) {
        const one = usable<D>(row);
        if (!found.get(row.providerId)) found.set(row.providerId, one);
      }
      return found;
    },

    async chosen<D extends keyof AdapterOf>(owner: Owner, domain: D) {
      for (const row of await store.settingsOf(sql, owner, domain)) {
        const one = usable<D>(row);
        if (one) return one;
      }
      return undefined;
    },

    async pinned<D extends keyof AdapterOf>(owner: Owner, domain: D, id: string) {
      const row = isId(id) ? await store.settingOf(sql, owner, id) : undefined;
      if (row?.domain !== domain) throw unknown();
      const adapter = providers.resolve(domain, row.providerId, { version: row.version, use: 'pinned' });
      return { id, adapter, name: row.name, values: valuesOf(row) };
    },
  };
}
