import type { Billing } from '../entitlements/index.ts';
import type { Cache } from '../platform/cache/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import { type Clock, hmacHex } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { Providers } from '../providers/registry/index.ts';
import type { ProviderSettings } from '../providers/settings/index.ts';
import { openBrandKits } from './brand-kits/index.ts';
import { openMedia } from './media/index.ts';
import { openStock } from './stock/index.ts';

export interface LibraryNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  cache: Cache;
  outbound: Outbound;
  incarnation: string;
  logs: Logs;
  billing: Billing;
  providers: Providers;
  providerSettings: ProviderSettings;
}

const HOUR = 3_600_000;

/** Opens the files of organizations, uploaded or taken from stock sources, and what is made of them: brand kits. */
export async function openLibraryWing({
  config,
  sql,
  clock,
  cache,
  outbound,
  incarnation,
  logs,
  billing,
  providers,
  providerSettings,
}: LibraryNeeds) {
  await using opened = new AsyncDisposableStack();
  const media = opened.use(
    await openMedia({
      ...config.uploads,
      sql,
      clock,
      outbound,
      billing,
      providers,
      settings: providerSettings,
      backendUrl: config.http.backendUrl,
      retention: {
        deletedDays: config.retention.softDeleted,
        uploadDays: config.retention.multipartUploads,
        jobDays: config.retention.mediaJobs,
      },
      incarnation,
      signingKey: hmacHex(config.secrets.jwt, 'parts of uploads'),
      log: logs.of('media'),
    }),
  );
  const stock = openStock({ cache, clock, keys: config.stockMedia, media, providers, settings: providerSettings });
  return wing(opened, {
    rooms: { media, stock, brandKits: openBrandKits({ sql, billing }) },
    sweeps: [
      { name: 'media', everyMs: HOUR, run: (limit) => media.sweep(limit) },
      { name: 'media-transforms', everyMs: HOUR, run: (limit) => media.transforms.sweep(limit) },
    ],
    workers: [() => media.transforms.start()],
  });
}
