import { outdatedTimeout } from 'y-protocols/awareness';
import { type AwarenessEntry, awarenessUpdate, readAwareness } from './frames.ts';

/** Bytes of one state; a larger one is refused. */
export const MOST_STATE_BYTES = 16_000;
/** Ids that one connection may speak for. */
const MOST_IDS = 10;

/** Speaks for clients of other processes, which say whose they are. */
export const ELSEWHERE = {};

interface Held extends AwarenessEntry {
  /** The connection that speaks for it; others are passed over. */
  owner: object;
  /** Whose connection that is: a client that comes back by another one, here or elsewhere, goes on. */
  person: string;
  /** By the monotonic clock. */
  at: number;
}

/** What the clients of a room say of themselves, each id by one connection of the person who introduced it. */
export function openAwareness(now: () => number) {
  const held = new Map<number, Held>();
  const isOld = ({ at }: Held): boolean => now() - at > outdatedTimeout;
  const written = (entries: readonly AwarenessEntry[]): Uint8Array | undefined =>
    entries.length === 0 ? undefined : awarenessUpdate(entries);

  return {
    /**
     * Takes in what a connection of a person says; answers what is to be told to all, undefined for nothing new. What is
     * said for the id of another is passed over: clients repeat what they have heard. Only what is newer, from the same
     * person, cannot be a repetition: the client has come back while its former connection is not known to be gone.
     * @throws Malformed for what is no awareness update
     */
    receive(owner: object, person: string, update: Uint8Array): { told: Uint8Array | undefined; isTooLarge: boolean } {
      const told: AwarenessEntry[] = [];
      let isTooLarge = false;
      let own = [...held.values()].filter((one) => one.owner === owner).length;
      for (const { client, clock, state } of readAwareness(update)) {
        const known = held.get(client);
        if (known && known.owner !== owner && (known.person !== person || clock <= known.clock)) continue;
        if (known && (clock < known.clock || (clock === known.clock && !(state === 'null' && known.state !== 'null'))))
          continue;
        if (Buffer.byteLength(state) > MOST_STATE_BYTES) {
          isTooLarge = true;
          continue;
        }
        if (!known && (state === 'null' || own >= MOST_IDS)) continue;
        if (known?.owner !== owner) own += 1;
        held.set(client, { client, clock, state, owner, person, at: now() });
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
      const old = [...held.values()].filter((one) => one.owner === owner && isOld(one));
      for (const { client } of old) held.delete(client);
      return written(old.filter(({ state }) => state !== 'null').map((one) => ({ ...one, state: 'null' })));
    },
    /** Everybody's states, but those that all clients have forgotten by now; `owner`: those of one. */
    all: (owner?: object): Uint8Array | undefined =>
      written(
        [...held.values()].filter(
          (one) => one.state !== 'null' && !isOld(one) && (owner === undefined || one.owner === owner),
        ),
      ),
  };
}
export type Awareness = ReturnType<typeof openAwareness>;
