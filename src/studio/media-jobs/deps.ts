import type { Billing } from '../../entitlements/index.ts';
import type { MediaRoom } from '../../library/media/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { HeldClaims, Limiter, Waiters } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { Budget } from '../budget/index.ts';
import type { Models } from '../models/index.ts';
import type { Claimer } from './claim-store.ts';
import type { ClaimedJob } from './row.ts';
import type { openRunningNotes } from './store.ts';

/** What the room is opened with. */
export interface MediaJobsOptions {
  sql: Database;
  clock: Clock;
  log: Log;
  /** This start of this process. */
  incarnation: string;
  billing: Pick<Billing, 'takeExport' | 'giveBackExport'>;
  budget: Pick<Budget, 'reserve' | 'settle' | 'release' | 'programOf'>;
  models: Pick<Models, 'resolveMedia'>;
  media: Pick<MediaRoom, 'made' | 'get'>;
  providers: Pick<Providers, 'list' | 'mediaService'>;
  settings: Pick<ProviderSettings, 'pinned' | 'usable'>;
  /** Public address of this service, without a trailing slash. */
  backendUrl: string;
  /** Signs the addresses at which providers say that they are done. */
  signingKey: string;
  retentionDays: number;
  /** No other process makes or changes jobs. */
  isAlone: boolean;
}

/** What the use cases are handed. */
export interface MediaJobsDeps extends MediaJobsOptions {
  claimer: Claimer;
  /** Jobs whose steps are made in this process. */
  held: HeldClaims<ClaimedJob>;
  waiters: Waiters;
  /** Places for copies of results, which take disk and connections for long: a lane a provider; organizations take turns. */
  copies: Limiter;
  noteRunning: ReturnType<typeof openRunningNotes>;
  /** Looks for work, now or soon, where this process does some. */
  wake(inMs?: number): void;
}
