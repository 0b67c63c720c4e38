import type { AuthRoom } from '../people/auth/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import { openOAuth } from './service.ts';

export interface OAuthServerNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  logs: Logs;
  auth: AuthRoom;
  outbound: Outbound;
}

const HOUR = 3_600_000;

/** Opens the authorization server for clients that act for users. */
export async function openOAuthServerWing({ config, sql, clock, logs, auth, outbound }: OAuthServerNeeds) {
  await using opened = new AsyncDisposableStack();
  const oauth = opened.use(
    openOAuth({
      sql,
      clock,
      auth,
      outbound,
      issuer: config.http.backendUrl,
      failed: (error) =>
        logs.of('auth').warn({ err: error }, 'the last use of approvals could not be written and is lost'),
    }),
  );
  return wing(opened, {
    rooms: { oauth },
    sweeps: [{ name: 'oauth', everyMs: HOUR, run: (limit) => oauth.sweep(limit) }],
  });
}
