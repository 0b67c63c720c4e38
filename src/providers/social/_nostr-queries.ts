import { refused } from '../kit/declare/fallback.ts';
import { hasOwnId, isSignedByAuthor, type NostrEvent } from '../kit/protocols/nostr.ts';
import { messagesOf, type RelayLine, type Share, shareOf, withRelay } from './_nostr-sockets.ts';

/** Characters read from all relays for a list of events. */
const MOST_CHARACTERS_LISTED = 4 * 1024 * 1024;
/** Signatures that are verified for one question: a page of each of the most relays. */
const MOST_VERIFIED = 1_000;
/** So many at a time, before others get their turn in this process. */
const VERIFIED_AT_ONCE = 16;

export interface Filter {
  ids?: readonly string[];
  kinds?: readonly number[];
  authors?: readonly string[];
  /** Ids of events that it refers to. */
  '#e'?: readonly string[];
  /** In seconds, inclusive. */
  until?: number;
  limit?: number;
}
const fits = ({ ids, kinds, authors, '#e': of, until = Infinity }: Filter, event: NostrEvent): boolean =>
  (ids?.includes(event.id) ?? true) &&
  (kinds?.includes(event.kind) ?? true) &&
  (authors?.includes(event.pubkey) ?? true) &&
  (of === undefined || event.tags.some(([name, id]) => name === 'e' && of.includes(id!))) &&
  event.created_at <= until;

/**
 * Answers events that their authors signed, each verified once for all relays, and undefined for others: a relay can
 * invent what it sends. `isSpent`: nothing more is verified.
 */
function openVerifier({ clock }: Pick<RelayLine, 'clock'>) {
  const genuine = new Map<string, NostrEvent>();
  let verified = 0;
  return {
    isSpent: () => verified >= MOST_VERIFIED,
    async genuineOf(event: NostrEvent): Promise<NostrEvent | undefined> {
      if (!hasOwnId(event)) return undefined;
      const known = genuine.get(event.id);
      if (known || verified >= MOST_VERIFIED) return known;
      verified += 1;
      if (verified % VERIFIED_AT_ONCE === 0) await clock.sleep(0);
      if (!isSignedByAuthor(event)) return undefined;
      genuine.set(event.id, event);
      return event;
    },
  };
}

/** An event, and the relays that have it. */
export interface Held {
  event: NostrEvent;
  relays: string[];
}

/**
 * Answers the newest of the first events of each relay, and the relays that have it. `unavailable` when no relay
 * answered completely.
 */
export async function ask(line: RelayLine, relays: readonly string[], filter: Filter): Promise<Held | undefined> {
  const { genuineOf } = openVerifier(line);
  const answers = await Promise.all(
    relays.map((relay) =>
      withRelay(line, relay, async (socket, signal) => {
        socket.send(JSON.stringify(['REQ', 'q', filter]));
        for await (const message of messagesOf(socket, signal, shareOf(relays.length))) {
          const event = message[0] === 'EVENT' && fits(filter, message[2]) && (await genuineOf(message[2]));
          if (event) return { relay, event, whole: true };
          if (message[0] === 'EOSE') return { relay, event: undefined, whole: true };
          if (message[0] === 'CLOSED') break;
        }
        return { relay, event: undefined, whole: false };
      }).catch(() => ({ relay, event: undefined, whole: false })),
    ),
  );
  const newest = answers.flatMap(({ event }) => event ?? []).toSorted((a, b) => b.created_at - a.created_at)[0];
  if (newest)
    return { event: newest, relays: answers.filter(({ event }) => event?.id === newest.id).map(({ relay }) => relay) };
  if (!answers.some(({ whole }) => whole)) throw refused('unavailable', 'No relay answered');
  return undefined;
}

/**
 * Lists the signed events of all relays together, newest first. `until`: ask again with it for those before; absent where no
 * relay has more. A relay that sends too much is heard so far. `unavailable` when no relay answered.
 */
export async function list(
  line: RelayLine,
  relays: readonly string[],
  filter: Filter & { limit: number },
): Promise<{ found: Held[]; until?: number }> {
  const share: Share = { messages: filter.limit + 20, characters: MOST_CHARACTERS_LISTED / relays.length };
  const { genuineOf, isSpent } = openVerifier(line);
  const answers = await Promise.all(
    relays.map((relay) =>
      withRelay(line, relay, async (socket, signal) => {
        const events = new Map<string, NostrEvent>();
        socket.send(JSON.stringify(['REQ', 'q', filter]));
        for await (const message of messagesOf(socket, signal, share)) {
          const event = message[0] === 'EVENT' && fits(filter, message[2]) && (await genuineOf(message[2]));
          if (event) events.set(event.id, event);
          if (message[0] === 'EOSE') return { relay, events, whole: events.size < filter.limit };
          if (message[0] === 'CLOSED' || isSpent()) break;
        }
        return events.size > 0 ? { relay, events, whole: false } : undefined;
      }).catch(() => undefined),
    ),
  );
  const answered = answers.filter((answer) => answer !== undefined);
  if (answered.length === 0) throw refused('unavailable', 'No relay answered');
  const held = new Map<string, Held>();
  for (const { relay, events } of answered)
    for (const [id, event] of events) held.set(id, { event, relays: [...(held.get(id)?.relays ?? []), relay] });
  /** Relays send the newest first: of one with more, events before its last one belong to the next page. */
  const ends = answered
    .filter(({ whole }) => !whole)
    .map(({ events }) => Math.min(...[...events.values()].map(({ created_at: at }) => at)));
  const from = Math.max(0, ...ends);
  const found = [...held.values()]
    .filter(({ event }) => event.created_at >= from)
    .toSorted((a, b) => b.event.created_at - a.event.created_at);
  return { found, ...(from > 0 && { until: from - 1 }) };
}
