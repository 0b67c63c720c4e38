import { Fifo } from '../flow/index.ts';
import { AppError, busy, draining } from '../kernel/index.ts';
import { type Address, addressKey } from './address.ts';
import { becameQuiet } from './quiet.ts';
import { takeTurn, traced } from './take-turn.ts';
import type { Hosted, TurnJob, Mailbox, Turns } from './turn-state.ts';

const RETRY_BUSY_MS = 1_000;

function mailboxOf({ mailboxes }: Turns, to: Address, hosted: Hosted): Mailbox {
  const key = addressKey(to.type, to.id);
  let box = mailboxes.get(key);
  if (!box)
    mailboxes.set(
      key,
      (box = {
        to: { type: to.type, id: to.id },
        key,
        hosted,
        queue: new Fifo(),
        job: undefined,
        since: 0,
        slow: false,
        activation: undefined,
      }),
    );
  return box;
}

/** Waits in the mailbox for a turn. */
export function enqueue(
  turns: Turns,
  to: Address,
  hosted: Hosted,
  what: string,
  run: NonNullable<TurnJob['run']>,
): Promise<unknown> {
  if (turns.refusing) return Promise.reject(draining());
  if (!turns.ports) return Promise.reject(new AppError('unavailable', 'This host has no engine yet'));
  const box = mailboxOf(turns, to, hosted);
  if (box.queue.length >= turns.limits.mailbox) {
    turns.counters.refusedBusy += 1;
    return Promise.reject(busy(RETRY_BUSY_MS));
  }
  return new Promise((resolve, reject) => {
    box.queue.push({ what, run: traced(turns, to, what, run), resolve, reject });
    if (!turns.atWork.has(box)) void workOff(turns, box);
  });
}

async function workOff(turns: Turns, box: Mailbox): Promise<void> {
  const { atWork, mailboxes } = turns;
  atWork.add(box);
  for (let job = box.queue.shift(); job; job = box.queue.shift()) await takeTurn(turns, box, job);
  atWork.delete(box);
  if (!box.activation) mailboxes.delete(box.key);
  if (atWork.size === 0) becameQuiet(turns);
}

/** For each type the calls that wait, and the most of one actor. */
export function countQueued({ types, atWork }: Turns): Record<string, { queued: number; longest: number }> {
  const answer: Record<string, { queued: number; longest: number }> = {};
  for (const type of types.keys()) answer[type] = { queued: 0, longest: 0 };
  for (const { to, queue } of atWork) {
    const depth = answer[to.type]!;
    depth.queued += queue.length;
    depth.longest = Math.max(depth.longest, queue.length);
  }
  return answer;
}

/** Every call that waits is `draining`. */
export function refuseWaiting({ atWork }: Turns): void {
  for (const box of atWork) for (let job = box.queue.shift(); job; job = box.queue.shift()) job.reject(draining());
}
