import type { Limits } from '../../providers/registry/index.ts';
import type { ChannelSnapshot, Link } from '../posts/index.ts';

/** The kinds that there are. */
export type FollowUpKind = 'first_comment' | 'post_plug' | 'auto_plug' | 'reply';

/** A reply to a comment: what it says, the same as text, and the comment as its network knows it. */
export interface Reply {
  content: string;
  text: string;
  parent: { id: string; saved?: unknown };
}

/** A follow-up that this host has claimed, with all that acting needs. Whoever reports on it names attempt and host. */
export interface FollowUp {
  id: string;
  orgId: string;
  postId: string;
  kind: FollowUpKind;
  plug: string | null;
  channelId: string;
  attempt: number;
  incarnation: string;
  /** By the monotonic clock of this process: when it asked for the row. */
  heldSince: number;
  attemptsFailed: number;
  lookUps: number;
  claimedAt: Date;
  saved: unknown;
  /** The answer of its attempt is missing, for so long. */
  isLost: boolean;
  unansweredMs: number;
  /** Of a network that cannot be asked: whether a request of the attempt may have left. */
  mayHaveSent: boolean;
  /** Nobody has logged the channel in, or enabled it, for as long as it waits for that. */
  isLoginOver: boolean;
  /** Waits since then for a network that answers nobody. */
  circuitSince: Date | null;

  isDeleted: boolean;
  /** Items of the thread are not out yet. */
  isThreadOpen: boolean;
  settings: Readonly<Record<string, unknown>>;
  releaseId: string;
  releaseUrl: string;
  released: unknown;
  /** The network of the post, which declares the plug, and the account there that published it. */
  network: { providerId: string; providerVersion: string; account: string };
  /** Of the channel that acts; null: it is gone. */
  channel: ChannelSnapshot | null;
  /** What its own server takes, where that has said so. */
  serverLimits: Partial<Limits> | null;
  stop: 'disabled' | 'login' | null;
  /** Of an auto plug; null: it is deleted, or not activated and nothing was sent. */
  fields: readonly PlugValue[] | null;
  /** Of a reply. */
  reply: Reply | null;
  /** The links of a first comment, as they were decided with its post. */
  links: readonly Link[] | null;
}

/** A field of a plug that is set. */
export interface PlugValue {
  name: string;
  value: string;
}

/** How long a claim holds without news; a call ends before that. */
export const FOLLOW_UP_CLAIM_MS = 120_000;
