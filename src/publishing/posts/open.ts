import { bind } from '../../platform/kernel/index.ts';
import * as approval from './approval/index.ts';
import * as authoring from './authoring/index.ts';
import { admitOf } from './authoring/storing/group-commit.ts';
import * as brake from './brake/index.ts';
import * as campaigns from './campaigns/authoring.ts';
import type { PostsDeps, PostsOptions } from './deps.ts';
import { claimNextOf } from './dispatch/claim.ts';
import { emptyHands } from './dispatch/in-hand.ts';
import * as dispatch from './dispatch/index.ts';
import { openLateness } from './dispatch/lateness.ts';
import { openSender } from './dispatch/send.ts';
import { settleOf } from './dispatch/settle.ts';
import { workOfPosts } from './gauges.ts';
import * as notes from './notes.ts';
import * as reading from './reading/index.ts';
import { SLOT_LEASE_MS, UNCONFIRMED_LEASE_MS } from './rules.ts';
import * as sweeps from './sweeps.ts';
import * as tags from './tags.ts';

export type Posts = ReturnType<typeof openPosts>;

/** The room of posts: admission, publishing on time and once, changes, lists. */
export function openPosts(opened: PostsOptions) {
  const { sql, clock, incarnation, log, events, options } = opened;
  const { horizonMs, inFlight, lateMs } = options;
  const perLane = Math.max(8, Math.floor(inFlight / 4));
  const lateness = openLateness({ sql, clock, incarnation, log });
  const sender = openSender({
    ...opened,
    late: (ms) => lateness.record(ms),
    called: (call) => events?.publishCalled(call),
    inFlight,
    perLane,
    lookUps: { inAll: Math.max(4, Math.floor(inFlight / 4)), perLane: Math.max(2, Math.floor(perLane / 4)) },
  });
  const deps: PostsDeps = {
    ...opened,
    admit: admitOf(opened),
    claim: claimNextOf({ clock, incarnation, leaseMs: SLOT_LEASE_MS, horizonMs }),
    settle: settleOf({
      clock,
      incarnation,
      leaseMs: SLOT_LEASE_MS,
      unconfirmedMs: UNCONFIRMED_LEASE_MS,
      lateMs,
      followUps: opened.followUps,
    }),
    sender,
    lateness,
    inHand: emptyHands(),
  };

  return {
    ...bind(deps, authoring),
    ...bind(deps, approval),
    ...bind(deps, brake),
    ...bind(deps, campaigns),
    ...bind(deps, dispatch),
    ...bind(deps, reading),
    ...bind(deps, notes),
    ...bind(deps, tags),
    sweeps: bind(deps, sweeps),
    /** How late posts of the last hour went out. */
    lateness: () => lateness.lastHour(),
    /** What waits over all organizations, what should have been done, and what each host does. */
    work: () => workOfPosts(sql, horizonMs),
    /** Provider calls under way and waiting, in this process. */
    get gauges() {
      return { inFlight: sender.inFlight, waiting: sender.waiting };
    },
    async [Symbol.asyncDispose]() {
      deps.inHand.leaving.abort();
      sender[Symbol.dispose]();
      await lateness[Symbol.asyncDispose]();
    },
  };
}
