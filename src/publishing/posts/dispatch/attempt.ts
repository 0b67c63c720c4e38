import { z } from 'zod';
import { PROVIDER_FAILURES, type ProviderReason } from '../../../platform/kernel/index.ts';
import type { Published } from '../../../providers/registry/index.ts';
import type { ChannelSnapshot, Paced } from '../channels-port.ts';
import type { Link } from '../ports.ts';
import type { ClaimColumns } from '../row.ts';

/** One attempt at one post: whoever reports on it names all of it, and the row refuses what is stale. */
export interface Attempt {
  orgId: string;
  channelId: string;
  postId: string;
  attempt: number;
  incarnation: string;
}

/** All that sending needs, read by the statement that claimed the post. */
export interface ClaimedPost extends Attempt, Omit<ClaimColumns, 'saved'> {
  /** Links that were to go out short; undecided until just before the first request leaves. */
  links: readonly (Link & { decided: boolean })[];
  /** What an earlier attempt saved, and how long ago the first did, by the database's clock. */
  saved: unknown;
  savedMs: number;
  /** The network is ready for this attempt: its steps before publishing were made ahead of the publish date. */
  isPrepared: boolean;
  /** The pace of the network counts it already: an earlier attempt went so far. */
  isCounted: boolean;
  /** Items of the thread that are out, root first; empty for a root. */
  thread: readonly Published[];
  /** It comes behind the root of a thread. */
  isLater: boolean;
  /**
   * By the database's clock: how long its answer has been missing (the request left before that), and how long after
   * its due time it was claimed.
   */
  unansweredMs: number;
  lateMs: number;
  /** By the monotonic clock of this process: when it asked for the slot, which it surely held right after. */
  heldSince: number;
  /** A network that cannot be asked: whether a request of this attempt may have left. Others are asked. */
  mayHaveSent: boolean;
  /** It is, or waits to be, sent again while an earlier request may still arrive at its network (`toResend`). */
  isResend: boolean;
  lookUps: number;
  channel: ChannelSnapshot;
}

/**
 * What the claim found. `early`: when it is due, and the time that is missing until then, by the database's clock.
 * `idle`: the slot is held, channel stopped, or nothing waits.
 */
export type Next =
  | { kind: 'claimed'; claimed: ClaimedPost }
  | { kind: 'early'; dueAt: Date; missingMs: number; remind: boolean }
  | { kind: 'idle' };

/** What the network answered to a publish that worked. Anything else is garbage: the post may be out. */
export const Release = z.object({ id: z.string().min(1), url: z.string(), saved: z.unknown().optional() });

/** The same of one that it hides until a person has acted there. */
export const HeldBack = z.object({ held: z.string() });

/**
 * What became of one attempt. `preparing`: the network is not ready for it yet, and nothing is public. `paced`: the
 * account or the app has posted as often as the network allows, and nothing was sent; `of`: what counts in the window
 * that is used up. `circuit_open`: the network answers nobody, and nothing was sent. `expired`: it dropped what it was
 * given, and nothing was published. `held`: it has the post, and shows it to nobody before a person acts there.
 * `absent`: the network does not show it; `mayArriveMs`: for how long its request may still arrive there, whose answer
 * was lost. `not-sent`: no request has left, and this host will not send it.
 */
export type AttemptOutcome =
  | { kind: 'published'; release: Published }
  | { kind: 'processing'; processingMs: number }
  | { kind: 'preparing'; againMs: number }
  | { kind: 'paced'; againMs: number; of?: Paced['of'] }
  | { kind: 'circuit_open'; againMs: number }
  | { kind: 'expired' }
  | { kind: 'held'; message: string }
  | { kind: 'absent'; mayArriveMs?: number }
  | { kind: 'not-sent' }
  | { kind: 'undecided'; message: string; similar?: readonly Published[] }
  | {
      kind: (typeof PROVIDER_FAILURES)[number];
      message: string;
      reason?: ProviderReason | undefined;
      retryAfterMs?: number | undefined;
      mediaFault?: boolean;
    };
