import { z } from 'zod';
import { NostrEvent } from '../kit/protocols/nostr.ts';
import type { Socket } from '../kit/wire/sockets.ts';
import type { SocialLine } from './_contract.ts';

// The exchange with one relay.

export type RelayLine = Pick<SocialLine, 'sockets' | 'clock' | 'timeoutMs'>;

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

/** What is read from one relay. */
export interface Share {
  messages: number;
  characters: number;
}
export const shareOf = (relays: number): Share => ({
  messages: MOST_MESSAGES / relays,
  characters: Math.max(MOST_CHARACTERS / relays, LEAST_CHARACTERS),
});

/** Yields the known messages of a relay; ends when it closes, time is over, or it has sent too much. */
export async function* messagesOf(
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

export async function withRelay<T>(
  { sockets, timeoutMs }: RelayLine,
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
