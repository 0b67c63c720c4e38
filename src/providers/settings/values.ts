import { z } from 'zod';
import type { Vault } from '../../platform/kernel/index.ts';
import { OutboundError } from '../../platform/outbound/index.ts';
import { type AdapterOf, type AnyAdapter, isAddressField, type Values } from '../registry/index.ts';
import type { SettingsDeps, SettingView } from './deps.ts';
import { checkGroups, type Given, hintOf, merged, type Owner, setupOf } from './rules.ts';
import type { SettingRow } from './store.ts';

const Secrets = z.record(z.string(), z.string());

export const seal = (vault: Vault, secrets: Values): string => vault.seal(JSON.stringify(secrets));

/** The values of a row with its secrets. Those that the key of this deployment cannot open count as not set. */
export function valuesOf({ vault }: Pick<SettingsDeps, 'vault'>, row: SettingRow): Values {
  try {
    return { ...row.options, ...Secrets.parse(JSON.parse(vault.open(row.credentials))) };
  } catch {
    return row.options;
  }
}

/** Answers the complete, checked values of a row for this adapter. */
export function judgeValues(
  deps: Pick<SettingsDeps, 'providers' | 'outbound' | 'operatorOutbound'>,
  adapter: AnyAdapter,
  owner: Owner,
  given: Given,
  kept?: Values,
): Values {
  const setup = setupOf(adapter, owner);
  const values = deps.providers.fields({ credentials: setup.fields }, merged(setup, given, kept), 'credentials.');
  checkGroups(setup, values);
  for (const [name, { form }] of Object.entries(setup.fields))
    if (form && values[name]) judgeAddress(deps, owner, name, values[name]);
  return values;
}
function judgeAddress(
  { outbound, operatorOutbound }: Pick<SettingsDeps, 'outbound' | 'operatorOutbound'>,
  owner: Owner,
  name: string,
  address: string,
): void {
  try {
    (owner === null ? operatorOutbound : outbound).judge(address);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw error.ofField(`credentials.${name}`);
  }
}

/** Names of addresses are asked for so long; what nobody knows by then is judged when it is called, as each is. */
const LOOK_UP_MS = 2_000;

/**
 * Refuses addresses that an organization gives whose names lead to where nothing may be called, so that who types one
 * hears of it. What is wrong otherwise is told where all values are judged.
 */
export async function judgeNames(
  { clock, providers, outbound }: Pick<SettingsDeps, 'clock' | 'providers' | 'outbound'>,
  adapter: AnyAdapter,
  owner: Owner,
  { credentials, options }: Given,
): Promise<void> {
  if (owner === null) return; // operators know their network
  const given = { ...options, ...credentials };
  const fields = Object.entries(adapter.setup?.fields ?? {}).filter(
    ([name, field]) => field.form && isAddressField(field) && typeof given[name] === 'string',
  );
  const judgeOne = async ([name, field]: (typeof fields)[number]): Promise<void> => {
    const over = new AbortController();
    try {
      // as it is stored
      const read = providers.fields({ credentials: { [name]: field } }, { [name]: given[name] }, 'credentials.');
      if (read[name]) await Promise.race([outbound.judgeResolved(read[name]), clock.sleep(LOOK_UP_MS, over.signal)]);
    } catch (error) {
      if (error instanceof OutboundError && error.failure === 'blocked') throw error.ofField(`credentials.${name}`);
    } finally {
      over.abort();
    }
  };
  await Promise.all(fields.map(judgeOne));
}

/** The adapter of the version that a row is pinned to; undefined where it is no longer registered. */
export const adapterOfRow = (
  { providers }: Pick<SettingsDeps, 'providers'>,
  row: Pick<SettingRow, 'domain' | 'providerId' | 'version'>,
): AnyAdapter | undefined =>
  providers
    .list()
    .find(({ domain, id, version }) => domain === row.domain && id === row.providerId && version === row.version);

/** The adapter that a row works with; 410 for a retired version. */
export const usePinned = ({ providers }: Pick<SettingsDeps, 'providers'>, row: SettingRow): AnyAdapter =>
  // the column `domain` holds nothing else
  providers.resolve(row.domain as keyof AdapterOf, row.providerId, { version: row.version, use: 'pinned' });

/** The adapter of a row that is changed: the version may be deprecated, and a preview has to be allowed (S158). */
export const editPinned = (
  { providers }: Pick<SettingsDeps, 'providers'>,
  { domain, providerId, version }: SettingRow,
  allowPreview: boolean | undefined,
): AnyAdapter => providers.resolve(domain as keyof AdapterOf, providerId, { version, allowPreview, use: 'edit' });

export function viewOfSetting(deps: Pick<SettingsDeps, 'providers' | 'vault'>, row: SettingRow): SettingView {
  const adapter = adapterOfRow(deps, row);
  const newest = newestOf(deps, row);
  const values = valuesOf(deps, row);
  const fields = Object.entries(adapter?.setup?.fields ?? {}).filter(([, { secret }]) => secret);
  return {
    ...row,
    secrets: Object.fromEntries(
      fields.map(([name]) => [
        name,
        { set: Boolean(values[name]), hint: values[name] === undefined ? null : hintOf(name, values[name]) },
      ]),
    ),
    status: adapter ? deps.providers.status(adapter) : 'retired',
    upgradeAvailable: newest && newest.version !== row.version ? newest.version : null,
  };
}

function newestOf(
  { providers }: Pick<SettingsDeps, 'providers'>,
  { domain, providerId }: SettingRow,
): AnyAdapter | undefined {
  try {
    return providers.resolve(domain as keyof AdapterOf, providerId);
  } catch {
    return undefined; // none is active
  }
}
