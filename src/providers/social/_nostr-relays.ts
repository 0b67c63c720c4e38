import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { NostrEvent, signEvent } from '../kit/protocols/nostr.ts';
import type { Socket } from '../kit/wire/sockets.ts';
import type { SocialLine } from './_contract.ts';

/** A relay's answer to an event. `sent`: it may have the event, and did not say so. */
export type Verdict = {
  relay: string;
  word: 'stored' | 'rate_limited' | 'rejected' | 'unavailable' | 'sent';
  reason: string;
};

type Line = Pick<SocialLine, 'sockets' | 'clock' | 'timeoutMs'>;

const Message = z.union([
  z.tuple([z.literal('OK'), z.string(), z.boolean(), z.string().catch('')], z.unknown()),
  z.tuple([z.literal('EVENT'), z.string(), NostrEvent], z.unknown()),
  z.tuple([z.literal('EOSE'), z.string()], z.unknown()),
  z.tuple([z.literal('CLOSED'), z.string(), z.string().catch('')], z.unknown()),
  z.tuple([z.literal('AUTH'), z.string()], z.unknown()),
]);
type Message = z.output<typeof Message>;

/**
 * Greatest number of messages and characters read from all relays in one exchange: users name relays, and a relay may
 * send without end.
 */
const MOST_MESSAGES = 300;
const MOST_CHARACTERS = 1024 * 1024;
/** Characters reserved for each relay, enough for one event of the greatest length. */
const LEAST_CHARACTERS = 160 * 1024;

/** The same for a list of events. */
const MOST_CHARACTERS_LISTED = 4 * 1024 * 1024;

/** What is read from one relay. */
interface Share {
  messages: number;
  characters: number;
}
const shareOf = (relays: number): Share => ({
  messages: MOST_MESSAGES / relays,
  characters: Math.max(MOST_CHARACTERS / relays, LEAST_CHARACTERS),
});

/** Yields the known messages of a relay; ends when it closes, time is over, or it has sent too much. */
async function* messagesOf(
  socket: Socket,
  signal: AbortSignal,
  { messages, characters }: Share,
): AsyncGenerator<Message> {
  let left = characters;
  for (let n = 0; n < messages; n += 1) {
    const text = await socket.next(signal);
    left -= text?.length ?? 0;
    if (text === undefined || left < 0) return;
    const message = Message.safeParse(parse(text));
    if (message.success) yield message.data;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function withRelay<T>(
  { sockets, timeoutMs }: Line,
  relay: string,
  work: (socket: Socket, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const socket = await sockets.open(relay, timeoutMs);
  try {
    return await work(socket, AbortSignal.timeout(timeoutMs));
  } finally {
    socket.close();
  }
}

/** Sends a signed event to one relay; logs in (NIP-42) when the relay asks for it. */
function sendTo(
  line: Line,
  relay: string,
  relays: number,
  event: NostrEvent,
  privateKey: Uint8Array,
): Promise<Verdict> {
  return withRelay(line, relay, async (socket, signal): Promise<Verdict> => {
    let challenge: string | undefined;
    let loggedIn: string | undefined;
    socket.send(JSON.stringify(['EVENT', event]));
    for await (const message of messagesOf(socket, signal, shareOf(relays))) {
      if (message[0] === 'AUTH') challenge = message[1];
      if (message[0] === 'OK' && message[1] === loggedIn) socket.send(JSON.stringify(['EVENT', event]));
      if (message[0] !== 'OK' || message[1] !== event.id) continue;
      const [, , accepted, reason] = message;
      if (!accepted && reason.startsWith('auth-required:') && challenge !== undefined && loggedIn === undefined) {
        const login = signEvent(
          {
            created_at: Math.floor(line.clock.now().getTime() / 1000),
            kind: 22242,
            tags: [
              ['relay', relay],
              ['challenge', challenge],
            ],
            content: '',
          },
          privateKey,
        );
        loggedIn = login.id;
        socket.send(JSON.stringify(['AUTH', login]));
        continue;
      }
      return { relay, ...wordOf(accepted, reason) };
    }
    return { relay, word: 'sent', reason: 'no answer' };
  });
}

function wordOf(accepted: boolean, reason: string): Pick<Verdict, 'word' | 'reason'> {
  if (accepted || reason.startsWith('duplicate:')) return { word: 'stored', reason };
  if (reason.startsWith('rate-limited:')) return { word: 'rate_limited', reason };
  if (reason.startsWith('error:')) return { word: 'unavailable', reason };
  return { word: 'rejected', reason };
}

/** Sends to all relays at once. One that stores the event is enough; else the best of the answers decides. */
export async function sendToAll(
  line: Line,
  relays: readonly string[],
  event: NostrEvent,
  privateKey: Uint8Array,
): Promise<Verdict[]> {
  const verdicts = await Promise.all(
    relays.map((relay) =>
      sendTo(line, relay, relays.length, event, privateKey).catch((error: unknown): Verdict => ({
        relay,
        word: 'unavailable',
        reason: error instanceof Error ? error.message : 'unknown',
      })),
    ),
  );
  if (verdicts.some(({ word }) => word === 'stored')) return verdicts;
  const said = verdicts.map(({ relay, reason }) => `${relay}: ${reason}`).join('; ');
  if (verdicts.some(({ word }) => word === 'sent')) throw refused('lost', `No relay confirmed the note (${said})`);
  if (verdicts.some(({ word }) => word === 'rate_limited'))
    throw refused('rate_limited', `The relays ask to wait (${said})`);
  if (verdicts.some(({ word }) => word === 'unavailable'))
    throw refused('unavailable', `No relay could be reached (${said})`);
  throw refused('rejected', `No relay takes the note (${said})`);
}

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
export async function ask(line: Line, relays: readonly string[], filter: Filter): Promise<Held | undefined> {
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
  line: Line,
  relays: readonly string[],
  filter: Filter & { limit: number },
): Promise<{ found: Held[]; until?: number }> {
  const share = { messages: filter.limit + 20, characters: MOST_CHARACTERS_LISTED / relays.length };
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
