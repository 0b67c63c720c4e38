import { isFinal } from '../../platform/db/index.ts';
import type { FollowUpsDeps } from './deps.ts';
import { perform } from './perform.ts';
import type { FollowUp } from './row.ts';
import { type FollowUpResult, resultOf } from './rules.ts';
import { plugOf } from './task.ts';
import { writeResult } from './write-result.ts';

/** How often a result is written that the database refuses; then the claim ends by itself, and the network is asked. */
const WRITES = 10;

/** Does what was claimed, all at once; answers when the next step of the post is due, `later` of what was not claimed. */
export async function runFollowUps(
  deps: FollowUpsDeps,
  { claimed, later }: { claimed: readonly FollowUp[]; later: Date | undefined },
): Promise<Date | undefined> {
  const dues = await Promise.all(claimed.map((followUp) => runOne(deps, followUp)));
  const times = [later, ...dues].flatMap((due) => (due ? [due.getTime()] : []));
  return times.length > 0 ? new Date(Math.min(...times)) : undefined;
}

async function runOne(deps: FollowUpsDeps, followUp: FollowUp): Promise<Date | undefined> {
  const { channels } = deps;
  const outcome = await perform(deps, followUp);
  if (outcome.kind === 'reauthorize' && followUp.stop === null && followUp.channel) {
    const { orgId, channelId, channel } = followUp;
    await channels.needsLogin(orgId, channelId, outcome.message, channel.credentials); // never over a newer login
  }
  const due = await write(deps, followUp, resultOf(followUp, outcome, followUp.isLost));
  // this host cannot send now: whoever can finds it by the scan
  return outcome.kind === 'not-sent' && !followUp.isLost ? undefined : due;
}

async function write(deps: FollowUpsDeps, followUp: FollowUp, result: FollowUpResult): Promise<Date | undefined> {
  const { sql, clock, log } = deps;
  const { id, orgId, postId, kind, attempt, incarnation, plug } = followUp;
  const plugTitle = plugOf(deps, followUp)?.title ?? plug;
  for (let tries = 0; ; tries++) {
    try {
      const key = { id, orgId, postId, kind, attempt, incarnation };
      const written = await writeResult(sql, { ...key, plugTitle, ...result });
      return written?.due ?? undefined;
    } catch (error) {
      log.warn({ err: error, postId, tries }, 'writing what became of a follow-up failed, repeated');
      if (tries >= WRITES || isFinal(error)) throw error;
      await clock.sleep(Math.min(100 * 2 ** tries, 5_000));
    }
  }
}
