import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import { wing } from '../platform/wing/index.ts';
import { addonsOf } from './addons.ts';
import type { Stop } from './ports.ts';
import { openBilling } from './service.ts';

export interface EntitlementsNeeds {
  config: Config;
  sql: Database;
  stop: Stop;
}

/** Opens what an organization may have: plans, limits, usage, admission. */
export async function openEntitlementsWing({ config, sql, stop }: EntitlementsNeeds) {
  await using opened = new AsyncDisposableStack();
  const billing = openBilling({
    sql,
    enabled: config.payments.publishableKey !== undefined,
    addons: addonsOf(config.addons),
    stop,
  });
  await billing.begin();
  return wing(opened, { rooms: { billing } });
}
