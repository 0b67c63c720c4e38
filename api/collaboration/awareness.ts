import { outdatedTimeout } from 'y-protocols/awareness';
import type { Clock } from '../../src/platform/kernel/index.ts';
import { type AwarenessEntry, awarenessUpdate, readAwareness, readState, type UnreadEntry } from './frames.ts';

/** Bytes of one state; a larger one is refused. */
export const MOST_STATE_BYTES = 16_000;
/** Ids that one connection may speak for; those of other processes were counted there. */
const MOST_IDS = 10;

/** Speaks for clients of other processes, which say whose they are. */
export const ELSEWHERE = {};
/** Speaks for clients that are gone: nobody else may until what was said of them is no longer on its way. */
const GONE = {};

interface Held extends AwarenessEntry {
  /** The connection that speaks for it; others are passed over. */
  owner: object;
  /** Whose connection that is: a client that comes back by another one, here or elsewhere, goes on. */
  person: string;
  /** By the monotonic clock. */
  at: number;
}

const saysNull = ({ state }: UnreadEntry): boolean => state.length === 4 && state[0] === 'n'.charCodeAt(0);

interface Heard {
  /** New, and to be told to all. */
  told: AwarenessEntry[];
  /**
   * What others were told to be over, for who says it again: a client that hears so of itself says it anew, and others
   * take only what is newer.
   */
  over: AwarenessEntry[];
  isTooLarge: boolean;
}

/** What the clients of a room say of themselves, each id by one connection of the person who introduced it. */
export function openAwareness(now: () => number) {
  const held = new Map<number, Held>();
  const isOld = ({ at }: Held): boolean => now() - at > outdatedTimeout;
  const written = (entries: readonly AwarenessEntry[]): Uint8Array | undefined =>
    entries.length === 0 ? undefined : awarenessUpdate(entries);
  /** Keeps of those who are gone that they are; answers what is to be told to the others. */
  function forget(isGone: (one: Held) => boolean): AwarenessEntry[] {
    const gone = [...held.values()].filter(isGone);
    for (const one of gone) held.set(one.client, { ...one, state: 'null', owner: GONE, at: now() });
    return gone.filter(({ state }) => state !== 'null').map(({ client, clock }) => ({ client, clock, state: 'null' }));
  }

  return {
    /**
     * Takes in what a connection of a person says. What is said for the id of another is passed over: clients repeat
     * what they have heard, also of those who are gone. Only what is newer, from the same person, cannot be a
     * repetition: the client has come back while its former connection is not known to be gone.
     * @throws Malformed for what is no awareness update
     */
    receive(owner: object, person: string, update: Uint8Array): Heard {
      const told: AwarenessEntry[] = [];
      const over: AwarenessEntry[] = [];
      let isTooLarge = false;
      let own: number | undefined;
      const ownIds = () => (own ??= [...held.values()].filter((one) => one.owner === owner).length);
      for (const entry of readAwareness(update)) {
        const { client, clock } = entry;
        const known = held.get(client);
        if (known && known.owner !== owner && (known.person !== person || clock <= known.clock)) {
          if (known.state === 'null' && known.person === person && !saysNull(entry))
            over.push({ client, clock: known.clock, state: 'null' });
          continue;
        }
        if (known && (clock < known.clock || (clock === known.clock && known.state === 'null'))) continue;
        if (entry.state.length > MOST_STATE_BYTES) {
          isTooLarge = true;
          continue;
        }
        const state = readState(entry);
        if (known && clock === known.clock && state !== 'null') continue;
        if (!known && (state === 'null' || (owner !== ELSEWHERE && ownIds() >= MOST_IDS))) continue;
        if (known?.owner !== owner) own = ownIds() + 1;
        held.set(client, { client, clock, state, owner, person, at: now() });
        told.push({ client, clock, state });
      }
      return { told, over, isTooLarge };
    },
    /** Forgets what a connection introduced; answers what is to be told to the others. */
    leave: (owner: object): AwarenessEntry[] => forget((one) => one.owner === owner),
    /** Forgets what other processes have not renewed in the time after which clients forget it too. */
    forgetOld(): AwarenessEntry[] {
      for (const one of held.values()) if (one.owner === GONE && isOld(one)) held.delete(one.client);
      return forget((one) => one.owner === ELSEWHERE && isOld(one));
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

/**
 * Milliseconds in which is gathered what clients say of themselves. A client of y-websocket sends back whatever it hears
 * of others: told one by one, a dozen people who type would be more than 60 frames a second to each other.
 */
const GATHERING_MS = 40;

/** What a client says of itself; `person`: whose it is, where other processes are to hear it. */
interface Said {
  entry: AwarenessEntry;
  person: string | undefined;
}

/** Gathers what is to be told for a moment: only the last state of each client matters. */
export function gatherAwareness(clock: Clock, tell: (all: readonly Said[]) => void) {
  const gathered = new Map<number, Said>();
  const ending = new AbortController();
  function flush(): void {
    if (gathered.size === 0) return;
    const all = [...gathered.values()];
    gathered.clear();
    tell(all);
  }
  return {
    gather(entries: readonly AwarenessEntry[], person?: string): void {
      if (entries.length === 0) return;
      if (gathered.size === 0) clock.sleep(GATHERING_MS, ending.signal).then(flush, flush);
      for (const entry of entries) gathered.set(entry.client, { entry, person });
    },
    /** Tells at once what was gathered. */
    end(): void {
      ending.abort();
      flush();
    },
  };
}
