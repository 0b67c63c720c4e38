import { randomInt } from 'node:crypto';
import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Awareness } from './awareness.ts';
import { type AwarenessEntry, awarenessUpdate } from './frames.ts';

/** Milliseconds for which an agent is shown after an edit; clients forget a state after the same time. */
const SHOWN_MS = 30_000;

interface Options {
  clock: Clock;
  awareness: Awareness;
  /** Tells the clients of this process: each process that has the room open sees the edit by itself. */
  tell(entries: readonly AwarenessEntry[]): void;
}
interface Shown {
  client: number;
  clock: number;
  hiding: AbortController;
}

/** Shows agents that have changed what a document stands for among its clients: by name, without a cursor. */
export function openAgents({ clock, awareness, tell }: Options) {
  const shown = new Map<string, Shown>();

  async function hideLater(name: string, one: Shown): Promise<void> {
    await clock.sleep(SHOWN_MS, one.hiding.signal);
    shown.delete(name);
    tell(awareness.leave(one));
  }

  return {
    show(name: string): void {
      const before = shown.get(name);
      before?.hiding.abort();
      if (before) awareness.leave(before); // the same id goes on, with a later clock
      const one = {
        client: before?.client ?? randomInt(1, 2 ** 32),
        clock: (before?.clock ?? 0) + 1,
        hiding: new AbortController(),
      };
      shown.set(name, one);
      const state = JSON.stringify({ user: { name, kind: 'agent' } });
      tell(awareness.receive(one, '', awarenessUpdate([{ ...one, state }])).told);
      hideLater(name, one).catch(() => undefined); // shown anew, or the room is closed
    },
    stop(): void {
      for (const { hiding } of shown.values()) hiding.abort();
    },
  };
}
