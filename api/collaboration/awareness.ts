import { outdatedTimeout } from 'y-protocols/awareness';
import { type AwarenessEntry, awarenessUpdate, readAwareness } from './frames.ts';

/** Bytes of one state; a larger one is refused. */
export const MOST_STATE_BYTES = 16_000;
/** Ids that one connection may speak for. */
const MOST_IDS = 10;

interface Held extends AwarenessEntry {
  /** Whose connection introduced it, and no other may speak for it. */
  owner: object;
  /** By the monotonic clock. */
  at: number;
}

/** What the clients of a room say of themselves, each id by the connection that introduced it. */
export function openAwareness(now: () => number) {
  const held = new Map<number, Held>();
  const written = (entries: readonly AwarenessEntry[]): Uint8Array | undefined =>
    entries.length === 0 ? undefined : awarenessUpdate(entries);

  return {
    /**
     * Takes in what a connection says; answers what is to be told to all, undefined for nothing new. What is said for
     * the id of another is passed over: clients repeat what they have heard.
     * @throws Malformed for what is no awareness update
     */
    receive(owner: object, update: Uint8Array): { told: Uint8Array | undefined; isTooLarge: boolean } {
      const told: AwarenessEntry[] = [];
      let isTooLarge = false;
      let own = [...held.values()].filter((one) => one.owner === owner).length;
      for (const { client, clock, state } of readAwareness(update)) {
        const known = held.get(client);
        if (known && known.owner !== owner) continue;
        if (known && (clock < known.clock || (clock === known.clock && !(state === 'null' && known.state !== 'null'))))
          continue;
        if (Buffer.byteLength(state) > MOST_STATE_BYTES) {
          isTooLarge = true;
          continue;
        }
        if (!known && (state === 'null' || own >= MOST_IDS)) continue;
        if (!known) own += 1;
        held.set(client, { client, clock, state, owner, at: now() });
        told.push({ client, clock, state });
      }
      return { told: written(told), isTooLarge };
    },
    /** Forgets what a connection introduced; answers what is to be told to the others. */
    leave(owner: object): Uint8Array | undefined {
      const gone = [...held.values()].filter((one) => one.owner === owner);
      for (const { client } of gone) held.delete(client);
      return written(gone.filter(({ state }) => state !== 'null').map((one) => ({ ...one, state: 'null' })));
    },
    /** Forgets what an owner has not renewed in the time after which clients forget it too. */
    forgetOld(owner: object): Uint8Array | undefined {
      const old = [...held.values()].filter((one) => one.owner === owner && now() - one.at > outdatedTimeout);
      for (const { client } of old) held.delete(client);
      return written(old.filter(({ state }) => state !== 'null').map((one) => ({ ...one, state: 'null' })));
    },
    /** Everybody's states; `owner`: those of one. */
    all: (owner?: object): Uint8Array | undefined =>
      written([...held.values()].filter((one) => one.state !== 'null' && (owner === undefined || one.owner === owner))),
  };
}
export type Awareness = ReturnType<typeof openAwareness>;
