import type { Actors, Engine } from './actor-runtime/index.ts';
import type { Config } from './config/config.ts';
import type { Database } from './db/index.ts';
import type { Clock, Vault } from './kernel/index.ts';

/** Every room of one process, built once. */
export interface Context {
  readonly config: Config;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly sql: Database;
  readonly engine: Engine;
  readonly actors: Actors;
  /** Of this start of this process. */
  readonly incarnation: string;
}
