import type {
  Actors,
  Address,
  Engine,
  Host,
  HostLimits,
  Implementation,
} from '../../../src/platform/actor-runtime/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';

/** What one start of a host needs; `needs` becomes `turn.ctx`. */
export interface HostSetup {
  implementations: readonly Implementation[];
  needs?: unknown;
  limits?: Partial<HostLimits>;
}

/** A host in the process of the test. */
export interface RunningHost {
  readonly actors: Actors;
  readonly engine: Engine;
  readonly host: Host;
  /** Drains as on SIGTERM; ends when this host is gone. Calling it again does nothing. */
  stop(): Promise<void>;
}

/** One engine with its own database (and its own runtime processes, where it has some) for one test file. */
export interface EngineHarness extends AsyncDisposable {
  readonly sql: Database;
  /** Milliseconds until a failed default reminder comes again. Short, so that tests are. */
  readonly retryMs: number;
  /** Milliseconds within which 10,000 reminders are set, also on a slow machine. */
  readonly setMs: number;
  /** Starts a host and waits until calls and reminders reach it. One at a time; reminders and state outlive it. */
  startHost(setup: HostSetup): Promise<RunningHost>;
  /**
   * Sends a call whose caller goes away while it waits, as abruptly as this engine allows. Ends when the caller is
   * gone.
   */
  abandon(running: RunningHost, to: Address, method: string, input: unknown): Promise<void>;
  /**
   * Takes the engine's store away for `ms` while everything else runs on: the database, or what keeps the reminders.
   */
  outage(ms: number): Promise<void>;
}

/** `missing`: why the engine cannot run on this machine; its cases are then skipped by that name. */
export interface EngineUnderTest {
  readonly name: 'embedded' | 'dapr';
  readonly missing?: string | undefined;
  /** How many actors are active at once: far more than a host, or its sidecar, has turns. */
  readonly many: number;
  open(): Promise<EngineHarness>;
}
