import type { Billing } from '../../src/billing/index.ts';
import type { Database } from '../../src/db/index.ts';
import { type Clock, openVault, systemClock } from '../../src/kernel/index.ts';
import { type MediaOptions, openMedia } from '../../src/media/index.ts';
import type { Outbound } from '../../src/outbound/index.ts';
import { openProviderSettings } from '../../src/provider-settings/index.ts';
import { openProviders } from '../../src/providers/index.ts';
import { testBilling } from './billing.ts';

interface Options extends Partial<Omit<MediaOptions, 'sql' | 'outbound' | 'folder'>> {
  sql: Database;
  outbound: Outbound;
  /** Where local files lie. */
  folder: string;
  billing?: Pick<Billing, 'enabled' | 'admit' | 'hold'>;
}

const VAULT = openVault(Buffer.alloc(32, 7));

/** A clock for media that asks a storage again at once, and not after a second. */
export const HASTY: Clock = { ...systemClock, sleep: async () => {} };

/** The settings of providers, with a vault of the tests. */
export const testSettings = ({ sql, outbound, folder, clock = systemClock }: Pick<Options, 'sql' | 'outbound' | 'folder' | 'clock'>) => {
  const providers = openProviders({ outbound, clock, sandboxEnabled: false, folder });
  return { providers, settings: openProviderSettings({ sql, clock, vault: VAULT, providers, outbound }) };
};

/** The media room over a folder, with the storages that settings in the database name. */
export const testMedia = (options: Options) =>
  openMedia({
    clock: systemClock,
    billing: testBilling(options.sql),
    ...testSettings(options),
    backendUrl: 'https://api.example',
    maxBytes: 1_000_000,
    localQuotaBytes: 5 * 1024 ** 3,
    restrictDomains: [],
    retention: { deletedDays: 30, uploadDays: 7 },
    signingKey: 'a key of the tests',
    isShared: true,
    log: { error: () => {} },
    ...options,
  });
