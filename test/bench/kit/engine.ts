import { openDaprEngine } from '../../../src/platform/actor-runtime/dapr/index.ts';
import { openEmbeddedEngine } from '../../../src/platform/actor-runtime/embedded/index.ts';
import type { Engine } from '../../../src/platform/actor-runtime/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import type { quietLog } from '../../support/worlds/quiet-log.ts';

/** Where a process finds its sidecar and placement, and the tokens of both; absent: the embedded engine. */
export type DaprPorts =
  | {
      httpPort: number;
      grpcPort: number;
      appPort: number;
      placementHealthUrl: string;
      apiToken?: string;
      appToken?: string;
    }
  | undefined;

/** An engine for one type of actors. `callerToken`: what callers show; empty: nothing, and nothing is compared. */
export function openEngine(
  { sql, log, type }: { sql: Database; log: ReturnType<typeof quietLog>; type: string },
  dapr: DaprPorts,
  callerToken = 'x'.repeat(43),
): Promise<Engine> {
  const common = { sql, clock: systemClock, log, incarnation: newId() };
  return dapr
    ? openDaprEngine({ ...common, apiToken: undefined, appToken: undefined, ...dapr, callerToken, types: [type] })
    : openEmbeddedEngine({ ...common, address: `pid ${process.pid}` });
}
