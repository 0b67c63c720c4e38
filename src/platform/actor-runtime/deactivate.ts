import { type Address, addressKey } from './address.ts';
import type { Mailbox, Turns } from './turn-state.ts';

/** Forgets the actor's memory. True when there was some. */
export function dropActivation(box: Mailbox): boolean {
  if (!box.activation) return false;
  box.activation.takeBesides();
  box.activation = undefined;
  box.hosted.active -= 1;
  return true;
}

/** Deactivates who had no turn for long, and tells of turns that last too long. */
export function lookRound({ atWork, clock, limits, log, mailboxes }: Turns): void {
  const now = clock.monotonic();
  for (const box of atWork) {
    if (!box.slow && box.job && now - box.since > limits.turnMs) {
      box.slow = true;
      log.warn(
        { type: box.to.type, id: box.to.id, turn: box.job.what },
        'a turn lasts too long; calls of its actor wait',
      );
    }
  }
  for (const box of mailboxes.values()) {
    if (atWork.has(box) || now - box.since <= limits.idleMs) continue;
    dropActivation(box);
    mailboxes.delete(box.key);
  }
}

/** Drops memory after the running turn. True when the actor was active. */
export async function deactivate({ types, mailboxes, atWork }: Turns, of: Address): Promise<boolean> {
  const hosted = types.get(of.type);
  const box = hosted && mailboxes.get(addressKey(of.type, of.id));
  if (!box) return false;
  if (!atWork.has(box)) {
    mailboxes.delete(box.key);
    return dropActivation(box);
  }
  return new Promise((resolve) => {
    box.queue.push({
      what: 'deactivate',
      run: undefined,
      resolve: (active) => resolve(active === true),
      reject: () => resolve(false),
    });
  });
}
