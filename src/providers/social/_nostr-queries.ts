import { refused } from '../kit/declare/fallback.ts';
import type { NostrEvent } from '../kit/protocols/nostr.ts';
import { messagesOf, type RelayLine, type Share, shareOf, withRelay } from './_nostr-sockets.ts';

/** Characters read from all relays for a list of events. */
const MOST_CHARACTERS_LISTED = 4 * 1024 * 1024;

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
  const answers = await Promise.all(
    relays.map((relay) =>
      withRelay(line, relay, async (socket, signal) => {
        socket.send(JSON.stringify(['REQ', 'q', filter]));
        for await (const message of messagesOf(socket, signal, shareOf(relays.length))) {
          if (message[0] === 'EVENT' && fits(filter, message[2])) return { relay, event: message[2], whole: true };
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
 * Lists the events of all relays together, newest first. `until`: ask again with it for those before; absent where no
 * relay has more. A relay that sends too much is heard so far. `unavailable` when no relay answered.
 */
export async function list(
  line: RelayLine,
  relays: readonly string[],
  filter: Filter & { limit: number },
): Promise<{ found: Held[]; until?: number }> {
  const share: Share = { messages: filter.limit + 20, characters: MOST_CHARACTERS_LISTED / relays.length };
  const answers = await Promise.all(
    relays.map((relay) =>
      withRelay(line, relay, async (socket, signal) => {
        const events: NostrEvent[] = [];
        socket.send(JSON.stringify(['REQ', 'q', filter]));
        for await (const message of messagesOf(socket, signal, share)) {
          if (message[0] === 'EVENT' && fits(filter, message[2])) events.push(message[2]);
          if (message[0] === 'EOSE') return { relay, events, whole: events.length < filter.limit };
          if (message[0] === 'CLOSED') break;
        }
        return events.length > 0 ? { relay, events, whole: false } : undefined;
      }).catch(() => undefined),
    ),
  );
  const answered = answers.filter((answer) => answer !== undefined);
  if (answered.length === 0) throw refused('unavailable', 'No relay answered');
  const held = new Map<string, Held>();
  for (const { relay, events } of answered)
    for (const event of events) held.set(event.id, { event, relays: [...(held.get(event.id)?.relays ?? []), relay] });
  /** Relays send the newest first: of one with more, events before its last one belong to the next page. */
  const ends = answered
    .filter(({ whole }) => !whole)
    .map(({ events }) => Math.min(...events.map(({ created_at: at }) => at)));
  const from = Math.max(0, ...ends);
  const found = [...held.values()]
    .filter(({ event }) => event.created_at >= from)
    .toSorted((a, b) => b.event.created_at - a.event.created_at);
  return { found, ...(from > 0 && { until: from - 1 }) };
}
