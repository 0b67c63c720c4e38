import type { Database } from '../../src/db/index.ts';
import { openEgress } from '../../src/egress/index.ts';
import { systemClock, type Vault } from '../../src/kernel/index.ts';
import { openProviderSettings } from '../../src/provider-settings/index.ts';
import type { localProviders } from './providers.ts';

type LocalProviders = Pick<ReturnType<typeof localProviders>, 'outbound'> & Omit<ReturnType<typeof localProviders>, typeof Symbol.asyncDispose>;

/** The room of routes, over the settings of providers. */
export function testEgress(sql: Database, vault: Vault, providers: LocalProviders, events?: Parameters<typeof openEgress>[0]['events']) {
  const settings = openProviderSettings({ sql, clock: systemClock, vault, providers, outbound: providers.outbound });
  return { ...openEgress({ sql, clock: systemClock, providers, settings, events }), settings };
}
