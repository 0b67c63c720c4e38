import { AppError, isId, ProviderError } from '../../platform/kernel/index.ts';
import { type AdapterOf, type AnyAdapter, knownDomain, type Values } from '../registry/index.ts';
import { type NewSetting, type SettingsDeps, type Tested, unknownSetting } from './deps.ts';
import type { Owner } from './rules.ts';
import * as store from './store.ts';
import { judgeValues, usePinned, valuesOf } from './values.ts';

/** Asks the provider of a setting; a refusal is an answer, not an error (S160). */
export async function testSetting(deps: SettingsDeps, owner: Owner, id: string): Promise<Tested> {
  const row = isId(id) ? await store.settingOf(deps.sql, owner, id) : undefined;
  if (!row) throw unknownSetting();
  const adapter = usePinned(deps, row);
  const tested = await ask(deps, owner, adapter, judgeValues(deps, adapter, owner, {}, valuesOf(deps, row)));
  await store.noteTest(deps.sql, owner, row, tested.ok);
  return tested;
}

/** Asks a provider with settings that are not stored. */
export async function trySetting(deps: SettingsDeps, owner: Owner, setting: NewSetting): Promise<Tested> {
  const adapter = wantedAdapter(deps, setting);
  return ask(deps, owner, adapter, judgeValues(deps, adapter, owner, setting));
}

/** The version that new settings name, else the newest active one (S159). */
export const wantedAdapter = (
  { providers }: Pick<SettingsDeps, 'providers'>,
  { domain, providerId, version, allowPreview }: NewSetting,
): AnyAdapter => providers.resolve(knownDomain(domain) as keyof AdapterOf, providerId, { version, allowPreview });

async function ask(
  { clock, providers }: Pick<SettingsDeps, 'clock' | 'providers'>,
  owner: Owner,
  adapter: AnyAdapter,
  values: Values,
): Promise<Tested> {
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
