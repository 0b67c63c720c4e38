import { busy } from '../kernel/index.ts';
import { reminderKey } from './address.ts';
import type { Fired } from './host.ts';
import { FairQueue } from '../flow/index.ts';

interface Noted extends Fired {
  key: string;
  begun: boolean;
}

interface Options {
  atWork: number;
  waiting: number;
  /** Runs the nudge as a turn; calls `begun` when the turn starts. Never rejects. */
  work(nudge: Fired, begun: () => void): Promise<void>;
}

/**
 * The nudges that were answered and wait for their turn: bounded, once for each actor and name, dealt fairly, a few at
 * a time.
 */
export function noteNudges({ atWork, waiting, work }: Options) {
  const queue = new FairQueue<Noted>();
  const noted = new Map<string, Noted>();
  const working = new Set<Noted>();

  async function next(nudge: Noted): Promise<void> {
    working.add(nudge);
    await work(nudge, () => void (nudge.begun = true));
    working.delete(nudge);
    pump();
  }

  function pump(): void {
    while (working.size < atWork) {
      const nudge = queue.shift();
      if (!nudge) return;
      noted.delete(nudge.key);
      void next(nudge);
    }
  }

  return {
    /** Notes it, or throws `busy` beyond the bound. One that waits already takes the newer data. */
    note(fired: Fired): void {
      const key = reminderKey(fired.to.type, fired.to.id, fired.name);
      const known = noted.get(key);
      if (known) return void (known.data = fired.data);
      if (queue.length >= waiting) throw busy(1_000);
      const nudge = { ...fired, key, begun: false };
      noted.set(key, nudge);
      queue.push(fired.owner, nudge);
      pump();
    },
    /** Empties the queue; answers what had no turn yet. */
    takeAll(): Fired[] {
      const back: Noted[] = [...working].filter(({ begun }) => !begun);
      for (let nudge = queue.shift(); nudge; nudge = queue.shift()) back.push(nudge);
      noted.clear();
      return back.map(({ to, name, data, owner }) => ({ to, name, data, owner }));
    },
    get working(): number {
      return working.size;
    },
  };
}
