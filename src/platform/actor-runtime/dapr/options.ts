import type { Database } from '../../db/index.ts';
import type { Clock } from '../../kernel/index.ts';
import type { Tracing } from '../../telemetry/index.ts';
import type { Bus } from '../bus.ts';
import type { Engine } from '../engine.ts';
import type { RuntimeLog } from '../host.ts';
import type { Probe } from './probe.ts';

export interface DaprEngineOptions {
  /**
   * Ports of the sidecar (`DAPR_HTTP_PORT`, `DAPR_GRPC_PORT`), and the one where it calls this process (`--app-port`).
   */
  httpPort: number;
  grpcPort: number;
  appPort: number;
  /** What the sidecar asks of us (`DAPR_API_TOKEN`), and what it must show us (`APP_API_TOKEN`). */
  apiToken: string | undefined;
  appToken: string | undefined;
  /** What processes of this instance show each other with a call; others reach only what contracts open to them. */
  callerToken: string;
  clock: Clock;
  log: RuntimeLog;
  sql: Database;
  /** Of this start of this process. */
  incarnation: string;
  /** Every actor type there is, hosted here or not. */
  types: readonly string[];
  /** Calls are spans, and continue in the host that runs them. */
  tracing?: Tracing;
  /** Where placement answers `/placement/state`, for the report. */
  placementHealthUrl?: string | undefined;
  /** How the sidecar probes this host, as its flags say. */
  probe?: Probe;
  /** The limit of a turn that the host was made with. */
  turnMs?: number;
  /** A reminder whose callback failed comes again after this long. */
  retryMs?: number;
  /** Calls and registrations that fail are repeated this long. */
  repeatMs?: number;
  /** A caller waits at most this long. */
  patienceMs?: number;
  /** How long `host` waits for the sidecar. */
  readyMs?: number;
}

export interface DaprEngine extends Engine {
  readonly bus: Bus;
  /** Ends when the sidecar can pass calls on; rejects after `readyMs`. */
  ready(): Promise<void>;
  /** Ends the connections to the sidecar. After the host's disposal, before the database. */
  close(): Promise<void>;
}
