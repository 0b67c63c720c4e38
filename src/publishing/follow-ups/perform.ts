import { ProviderError } from '../../platform/kernel/index.ts';
import type { Handle, Published } from '../../providers/registry/index.ts';
import { type Making, settles, SKEW_MS, type WithoutSlot } from '../posts/index.ts';
import type { FollowUpsDeps } from './deps.ts';
import { isAnotherOpen, ownedReleases } from './owned.ts';
import { FOLLOW_UP_CLAIM_MS, type FollowUp } from './row.ts';
import type { FollowUpOutcome } from './rules.ts';
import { doableOf, type FollowUpTask, taskOf } from './task.ts';
import { markFollowUpSent, saveForFollowUp } from './write-result.ts';

/** Does what a follow-up asks for, or asks the network what became of it. A provider's failure is an outcome. */
export async function perform(deps: FollowUpsDeps, followUp: FollowUp): Promise<FollowUpOutcome> {
  const { channel, isLost } = followUp;
  const { task, outcome } = taskOf(deps, isLost ? asSent(followUp) : followUp);
  if (!task) return isLost ? stillLost(outcome) : outcome;
  const caller: WithoutSlot = {
    ...followUp,
    channel: channel!, // a task has its channel
    leaseMs: FOLLOW_UP_CLAIM_MS,
    waitsSince: followUp.circuitSince ?? undefined,
  };
  return isLost ? lookUpFollowUp(deps, followUp, task, caller) : send(deps, followUp, task, caller);
}

/** An answer that is missing is asked for whatever has become of its post, and whether its channel is stopped. */
const asSent = (followUp: FollowUp): FollowUp => ({
  ...followUp,
  isDeleted: false,
  isThreadOpen: false,
  stop: followUp.stop === 'disabled' ? null : followUp.stop,
});

/** What keeps the network from being asked says nothing of what it has done. */
const stillLost = (outcome: FollowUpOutcome): FollowUpOutcome => {
  const message = 'message' in outcome ? outcome.message : 'it cannot be asked any more';
  return { kind: outcome.kind === 'reauthorize' ? 'lost' : 'undecided', message };
};

const send = (
  deps: FollowUpsDeps,
  followUp: FollowUp,
  task: FollowUpTask,
  caller: WithoutSlot,
): Promise<FollowUpOutcome> =>
  deps.posts.sendWithoutSlot(caller, (connected): Making | undefined => {
    const doable = doableOf(deps, task, followUp, connected);
    return (
      doable && {
        countsAs: task.act === 'repost' ? 'posts' : 'comments',
        markSent: doable.find ? undefined : () => markFollowUpSent(deps.sql, followUp),
        send: () => doable.send(handleOf(deps, followUp)),
      }
    );
  });

/** What the adapter is handed to note its steps. */
function handleOf({ sql }: FollowUpsDeps, followUp: FollowUp): Handle {
  const handle: Handle = {
    saved: followUp.saved ?? undefined,
    thread: [],
    async save(value) {
      if (!(await saveForFollowUp(sql, followUp, value)))
        throw new ProviderError('lost', 'This host was replaced while it was sending');
      handle.saved = value;
    },
  };
  return handle;
}

/** Looks for what an attempt may have made. What belongs to another row is never taken for it. */
async function lookUpFollowUp(
  deps: FollowUpsDeps,
  followUp: FollowUp,
  task: FollowUpTask,
  caller: WithoutSlot,
): Promise<FollowUpOutcome> {
  const { sql, clock, posts } = deps;
  const started = clock.monotonic();
  let outcome: FollowUpOutcome = { kind: 'lost', message: 'The network could not be asked' };
  const failure = await posts.askWithoutSlot(caller, async (connected) => {
    const doable = doableOf(deps, task, followUp, connected);
    if (!doable?.find) {
      outcome = followUp.mayHaveSent
        ? { kind: 'undecided', message: 'the answer was lost, and this network cannot be asked' }
        : { kind: 'not-sent' };
      return;
    }
    const unansweredMs = followUp.unansweredMs + clock.monotonic() - started; // what it shows later it was not asked for
    const since = new Date(followUp.claimedAt.getTime() - SKEW_MS);
    const shown = await doable.find({ since, saved: followUp.saved ?? undefined, thread: [] });
    const leftMs = settles({ ...connected, once: doable.once }) - unansweredMs;
    if (shown !== undefined && 'id' in shown) outcome = { kind: 'published', release: shown };
    else outcome = await ofSimilar(sql, followUp, shown ?? [], leftMs);
  });
  return failure ? { kind: 'lost', message: failure.message, retryAfterMs: failure.retryAfterMs } : outcome;
}

/** One that looks like it, and is surely no other's, is it. */
async function ofSimilar(
  sql: FollowUpsDeps['sql'],
  followUp: FollowUp,
  shown: readonly Published[],
  leftMs: number,
): Promise<FollowUpOutcome> {
  const isPending = shown.length > 0 && (await isAnotherOpen(sql, followUp)); // before: what is settled then is owned
  const owned = shown.length > 0 ? await ownedReleases(sql, followUp, shown) : new Set<string>();
  const [first, ...more] = shown.filter(({ id }) => !owned.has(id));
  if (first && more.length > 0)
    return { kind: 'undecided', message: 'the network shows several that look like it', similar: [first, ...more] };
  if (first && isPending) return { kind: 'lost', message: 'The network shows one that may be another of this post' };
  if (first) return { kind: 'published', release: first };
  return leftMs <= 0
    ? { kind: 'absent' }
    : { kind: 'lost', message: 'The network does not show it yet', retryAfterMs: Math.min(leftMs + 50, 10_000) };
}
