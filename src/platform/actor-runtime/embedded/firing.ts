import { AppError } from '../../kernel/index.ts';
import type { Host } from '../host.ts';
import { again, arm, type Near, type NearReminders, release } from './near.ts';
import { changeReminders } from './store.ts';

/** Default reminders at work at a time. */
const AT_WORK = 256;
/** After this long a nudge that found its queue full is offered again. */
const OFFER_AGAIN_MS = 250;
const DELETE_AGAIN_MS = 1_000;

/** Hands what is due to the host: nudges one after the other, default reminders a few at a time. */
export function fireDue(state: NearReminders): void {
  state.timer = undefined;
  const { heap, host, sweepMs } = state;
  if (!host || state.paused) return;
  const now = state.time.now();
  for (let first = heap.peek(); first && first.at <= now; first = heap.peek()) {
    heap.shift();
    first.place = 'work';
    if (!host.types.includes(first.type)) again(state, first, sweepMs);
    else (host.isNudge(first.type, first.name) ? state.offered : state.ready).push(first.owner, first);
  }
  void offerAll(state, host);
  workOff(state, host);
  arm(state);
}

/**
 * One nudge after the other, until the host has no room: the rest waits here, and only the next one is offered again.
 */
async function offerAll(state: NearReminders, to: Host): Promise<void> {
  if (state.offering) return;
  const { clock, ended, offered } = state;
  state.offering = true;
  for (let one = offered.shift(); one; one = offered.shift()) {
    if (one.dropped) continue;
    if (state.host !== to || state.paused) {
      again(state, one, OFFER_AGAIN_MS);
      continue;
    }
    if (await offer(state, to, one)) continue;
    offered.push(one.owner, one);
    await clock.sleep(OFFER_AGAIN_MS, ended.signal).catch(() => {});
    if (ended.signal.aborted) break;
  }
  state.offering = false;
}

/**
 * A nudge is gone as soon as the host has noted it: its row and the scan of the reconciler carry the guarantee.
 * False: the host is full.
 */
async function offer(state: NearReminders, to: Host, one: Near): Promise<boolean> {
  try {
    await to.fire({ type: one.type, id: one.id }, one.name, one.data, one.owner);
  } catch (error) {
    if (error instanceof AppError && error.code === 'busy') return false;
    again(state, one, OFFER_AGAIN_MS); // this host goes away
    return true;
  }
  finish(state, one);
  return true;
}

function workOff(state: NearReminders, to: Host): void {
  while (state.working < AT_WORK) {
    const one = state.ready.shift();
    if (!one) return;
    if (one.dropped) continue;
    if (state.paused) {
      again(state, one, OFFER_AGAIN_MS);
      continue;
    }
    state.working += 1;
    void run(state, to, one).finally(() => {
      state.working -= 1;
      if (state.host === to) workOff(state, to);
    });
  }
}

async function run(state: NearReminders, to: Host, one: Near): Promise<void> {
  try {
    await to.fire({ type: one.type, id: one.id }, one.name, one.data, one.owner);
  } catch (error) {
    state.log.debug(
      { err: error, type: one.type, id: one.id, reminder: one.name },
      'a reminder failed and comes again',
    );
    return again(state, one, state.retryMs);
  }
  finish(state, one);
}

/** Deletes the row of what is done, however long the database is away; until then memory knows that it is done. */
function finish(state: NearReminders, one: Near): void {
  if (one.dropped) return;
  const { finishing } = state;
  one.place = 'done';
  const deleting = deleteDone(state, one).finally(() => finishing.delete(deleting));
  finishing.add(deleting);
}

async function deleteDone(state: NearReminders, one: Near): Promise<void> {
  const { sql, clock, ended, log } = state;
  for (;;) {
    try {
      await changeReminders(sql, { kind: 'done', row: one });
      if (!one.dropped) release(state, one.key);
      return;
    } catch (error) {
      log.debug(
        { err: error, type: one.type, id: one.id, reminder: one.name },
        'the row of a reminder that is done cannot be deleted yet, trying again',
      );
    }
    if (ended.signal.aborted) return;
    await clock.sleep(DELETE_AGAIN_MS, ended.signal).catch(() => {});
  }
}
