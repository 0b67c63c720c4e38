import type { Actors, Engine } from './actor-runtime/index.ts';
import type { Auth } from './auth/index.ts';
import type { Cache } from './cache/index.ts';
import type { Channels } from './channels/index.ts';
import type { Config } from './config/config.ts';
import type { Database } from './db/index.ts';
import type { Identity } from './identity/index.ts';
import type { Clock, Vault } from './kernel/index.ts';
import type { Media } from './media/index.ts';
import type { Health } from './telemetry/health.ts';

/** Every room of one process, built once. */
export interface Context {
  readonly config: Config;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly sql: Database;
  readonly engine: Engine;
  readonly actors: Actors;
  readonly auth: Auth;
  readonly cache: Cache;
  readonly channels: Channels;
  readonly identity: Identity;
  readonly media: Media;
  readonly health: Health;
  /** Of this start of this process. */
  readonly incarnation: string;
}
