import type { Cache } from '../platform/cache/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock, Vault } from '../platform/kernel/index.ts';
import { type Network, openOutbound, type Outbound } from '../platform/outbound/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import { openCallCounts, openProviderCatalog } from './catalog/index.ts';
import { openProviders, type ProvidersOptions } from './registry/index.ts';
import { openChanges, openProviderSettings } from './settings/index.ts';

export interface ProvidersNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  vault: Vault;
  cache: Cache;
  outbound: Outbound;
  logs: Logs;
  network: Network;
  /** Ids of the networks whose login is switched on. */
  sso: readonly string[];
  /** Address of the sandbox network, where it runs. */
  sandboxUrl: string | undefined;
  /** Base URLs that replace declared ones, by `domain/id`, or `domain/id/name` for a further host. */
  servers: Readonly<Record<string, string>>;
  /** Adapters beside the product's own. */
  adapters: NonNullable<ProvidersOptions['adapters']>;
}

/** Opens the registered providers, their settings and their catalog. */
export async function openProvidersWing({
  config,
  sql,
  clock,
  vault,
  cache,
  outbound,
  logs,
  network,
  sso,
  sandboxUrl,
  servers,
  adapters,
}: ProvidersNeeds) {
  await using opened = new AsyncDisposableStack();
  const allowedPrivateCidrs = [...config.outbound.allowedPrivateCidrs, ...config.outbound.operatorPrivateCidrs];
  const operatorOutbound = opened.use(openOutbound({ ...config.outbound, ...network, allowedPrivateCidrs }));
  const calls = opened.use(
    openCallCounts({
      sql,
      clock,
      failed: (error) => logs.of('providers').warn({ err: error }, 'the health of providers was not written'),
    }),
  );
  const providers = openProviders({
    outbound,
    operatorOutbound,
    clock,
    sandboxEnabled: config.social.sandboxEnabled,
    apps: config.social.apps,
    onCall: calls.note,
    sso,
    echoUrl: config.outbound.echoUrl,
    timeoutMs: config.outbound.timeoutMs,
    folder: config.uploads.folder,
    adapters,
    servers: {
      'social/bluesky/plc': config.social.plcUrl,
      ...servers,
      ...(sandboxUrl !== undefined && { 'social/sandbox': sandboxUrl }),
    },
    ...(network.authorities && { authorities: network.authorities }),
  });
  const providerCatalog = openProviderCatalog({ sql, providers, calls });
  await providerCatalog.featured.seed();
  const changes = opened.use(await openChanges({ cache, providers }));
  return wing(opened, {
    rooms: {
      providers,
      providerCatalog,
      providerSettings: openProviderSettings({ sql, clock, vault, providers, outbound, operatorOutbound, changes }),
    },
  });
}
