import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { PostAdmission, Admitted } from './authoring/input.ts';
import type { claimNextOf } from './dispatch/claim.ts';
import type { InHand } from './dispatch/in-hand.ts';
import type { Lateness } from './dispatch/lateness.ts';
import type { Sender } from './dispatch/send.ts';
import type { settleOf } from './dispatch/settle.ts';
import type { ChannelsPort } from './channels-port.ts';
import type {
  DeliveriesPort,
  FollowUpsPort,
  Heartbeat,
  LinksPort,
  MediaPort,
  PostEvents,
  ProfilesPort,
  ReleaseIdsPort,
  ReminderMoves,
} from './ports.ts';

/** What the room is opened with. */
export interface PostsOptions {
  sql: Database;
  clock: Clock;
  reminders: ReminderMoves;
  channels: ChannelsPort;
  media: MediaPort;
  links: LinksPort;
  followUps: FollowUpsPort;
  /** The room that the plan leaves for posts, and what is locked before channels. */
  billing: Pick<Billing, 'enabled' | 'quota' | 'lockOrg' | 'require'>;
  profiles: ProfilesPort;
  releaseIds: ReleaseIdsPort;
  deliveries: DeliveriesPort;
  /** Of this start of this process; the host in the row. */
  incarnation: string;
  heartbeat: Heartbeat;
  log: Log;
  /** Told what happens, for counters and log lines. */
  events?: PostEvents | undefined;
  options: {
    /** Reminders further away are not registered. */
    horizonMs: number;
    /** Provider calls of this process at a time; a quarter of them may be in one lane (provider and origin). */
    inFlight: number;
    /** A post published later than this is announced as late. */
    lateMs: number;
    /** A post that was due while the service was down is missed when it is seen so much later. */
    missedAfterMs: number;
    /** How long deleted posts are kept. */
    deletedDays: number;
    /** How long campaigns are kept after their last day. */
    campaignDays: number;
  };
}

/** What the use cases of the room are handed: what it is opened with, and the state of this process. */
export interface PostsDeps extends PostsOptions {
  // Statements that take along whatever meets them.
  admit: (admission: PostAdmission) => Promise<Admitted>;
  claim: ReturnType<typeof claimNextOf>;
  settle: ReturnType<typeof settleOf>;

  sender: Sender;
  lateness: Lateness;
  inHand: InHand;
}
