import type { AuthRoom } from '../people/auth/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import { type Access, openAccess } from './access.ts';
import { type ApprovalLimits, openApprovalLimits } from './approval-limits.ts';
import { type Apps, openApps } from './apps.ts';
import { type ConsentRoom, openConsent } from './consent.ts';
import { dropOldDevices } from './device-store.ts';
import { type Devices, openDevices } from './devices.ts';
import { type ClientMetadata, type RegisteredClient, registerClient } from './registration.ts';
import { dropUnusedClients } from './store.ts';
import { openOAuthTokens, type OAuthTokens } from './tokens.ts';
import { dropOldTokens } from './token-store.ts';

/** The OAuth 2.0 server: clients act here on behalf of users. */
export interface OAuth extends AsyncDisposable {
  readonly apps: Apps;
  readonly consent: ConsentRoom;
  readonly limits: ApprovalLimits;
  readonly tokens: OAuthTokens;
  readonly access: Access;
  readonly devices: Devices;
  register(metadata: ClientMetadata): Promise<RegisteredClient>;
  /** Forgets what is over, at most `limit` rows of each kind; answers how many of the kind that has most. */
  sweep(limit: number): Promise<number>;
}

export interface OAuthOptions {
  sql: Database;
  clock: Clock;
  auth: Pick<AuthRoom, 'apiKeys'>;
  outbound: Outbound;
  /** Public address of this service, without a slash at its end. */
  issuer: string;
  /** Told when a note of last use could not be written. */
  failed: (error: unknown) => void;
}

export function openOAuth({ sql, clock, auth, outbound, issuer, failed }: OAuthOptions): OAuth {
  const access = openAccess({ sql, clock, failed });
  const shared = { sql, issuer, forgetAll: access.forgetAll };
  return {
    access,
    apps: openApps(shared),
    consent: openConsent({ ...shared, flush: access.flush, outbound }),
    limits: openApprovalLimits(shared),
    tokens: openOAuthTokens(shared),
    devices: openDevices({ sql, clock, auth }),
    register: (metadata) => registerClient(sql, metadata),
    sweep: async (limit) =>
      Math.max(await dropOldTokens(sql, limit), await dropOldDevices(sql, limit), await dropUnusedClients(sql, limit)),
    [Symbol.asyncDispose]: () => access[Symbol.asyncDispose](),
  };
}
