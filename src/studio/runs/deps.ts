import type { Cache } from '../../platform/cache/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { HeldClaims } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { Budget } from '../budget/index.ts';
import type { MediaJobs } from '../media-jobs/index.ts';
import type { Models } from '../models/index.ts';
import type { RunStepRow, StepClaimer } from './claim-store.ts';
import type { RunKind } from './contract.ts';
import type { Readers } from './readers.ts';

/** What the room is opened with. */
export interface RunsOptions {
  sql: Database;
  cache: Pick<Cache, 'claim' | 'delete'>;
  clock: Clock;
  log: Pick<Log, 'warn' | 'error'>;
  /** This start of this process. */
  incarnation: string;
  budget: Pick<Budget, 'reserve' | 'settle' | 'release'>;
  models: Pick<Models, 'resolveAi'>;
  providers: Pick<Providers, 'ai'>;
  mediaJobs: Pick<MediaJobs, 'create' | 'get' | 'show' | 'wait' | 'cancel'>;
  traceDays: number;
  runDays: number;
}

/** What the use cases are handed. */
export interface RunsDeps extends RunsOptions {
  kinds: Map<string, RunKind>;
  claimer: StepClaimer;
  /** Steps that this process works on. */
  held: HeldClaims<RunStepRow>;
  /** Those who read the events of runs here. */
  readers: Readers;
  /** Looks for work now, where this process does some. */
  wake(): void;
}
