import type { Billing } from '../../entitlements/index.ts';
import type { BrandKits } from '../../library/brand-kits/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Channels } from '../../publishing/channels/index.ts';
import type { Posts } from '../../publishing/posts/index.ts';
import type { Budget } from '../budget/index.ts';
import type { MediaJobs } from '../media-jobs/index.ts';
import type { Runs } from '../runs/index.ts';

/** What the room is opened with. */
export interface DesignerDeps {
  sql: Database;
  log: Pick<Log, 'warn'>;
  runs: Runs;
  budget: Pick<Budget, 'checkRoomFor'>;
  mediaJobs: Pick<MediaJobs, 'quote' | 'takes'>;
  channels: Pick<Channels, 'list' | 'find' | 'rules'>;
  brandKits: Pick<BrandKits, 'getBrandKit'>;
  posts: Pick<Posts, 'prepareCreate' | 'admitPosts' | 'findKnownPosts' | 'getPost' | 'removePost'>;
  billing: Pick<Billing, 'enabled' | 'quota'>;
  /** AI_DESIGNER_AGENT_TIMEOUT_MS and AI_DESIGNER_ASSET_TIMEOUT_MS */
  agentTimeoutMs: number;
  assetTimeoutMs: number;
  /** AI_DESIGNER_STUCK_SESSION_MINUTES */
  stuckMinutes: number;
}

export const DESIGNER = 'designer';
