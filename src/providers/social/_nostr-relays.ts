import { z } from 'zod';
import type { Connection } from '../kit/adapter.ts';
import { refused } from '../kit/fallback.ts';
import { NostrEvent, signEvent } from '../kit/nostr.ts';
import type { Socket } from '../kit/sockets.ts';

/** What one relay said of an event. `sent`: it may have it, and did not say so. */
export type Verdict = { relay: string; word: 'stored' | 'rate_limited' | 'rejected' | 'unavailable' | 'sent'; reason: string };

type Line = Pick<Connection, 'sockets' | 'clock' | 'timeoutMs'>;

const Message = z.union([
  z.tuple([z.literal('OK'), z.string(), z.boolean(), z.string().catch('')], z.unknown()),
  z.tuple([z.literal('EVENT'), z.string(), NostrEvent], z.unknown()),
  z.tuple([z.literal('EOSE'), z.string()], z.unknown()),
  z.tuple([z.literal('CLOSED'), z.string(), z.string().catch('')], z.unknown()),
  z.tuple([z.literal('AUTH'), z.string()], z.unknown()),
]);
type Message = z.output<typeof Message>;

/** The next message that we understand; undefined when the relay hangs up or the time is over. */
async function hear(socket: Socket, signal: AbortSignal): Promise<Message | undefined> {
  for (;;) {
    const text = await socket.next(signal);
    if (text === undefined) return undefined;
    const message = Message.safeParse(parse(text));
    if (message.success) return message.data;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function withRelay<T>({ sockets, timeoutMs }: Line, relay: string, work: (socket: Socket, signal: AbortSignal) => Promise<T>): Promise<T> {
  const socket = await sockets.open(relay, timeoutMs);
  try {
    return await work(socket, AbortSignal.timeout(timeoutMs));
  } finally {
    socket.close();
  }
}

/** Sends one signed event to one relay; logs in (NIP-42) when the relay asks for it. */
function sendTo(line: Line, relay: string, event: NostrEvent, privateKey: Uint8Array): Promise<Verdict> {
  return withRelay(line, relay, async (socket, signal): Promise<Verdict> => {
    let challenge: string | undefined;
    let loggedIn: string | undefined;
    socket.send(JSON.stringify(['EVENT', event]));
    for (;;) {
      const message = await hear(socket, signal);
      if (!message) return { relay, word: 'sent', reason: 'no answer' };
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
  });
}

function wordOf(accepted: boolean, reason: string): Pick<Verdict, 'word' | 'reason'> {
  if (accepted || reason.startsWith('duplicate:')) return { word: 'stored', reason };
  if (reason.startsWith('rate-limited:')) return { word: 'rate_limited', reason };
  if (reason.startsWith('error:')) return { word: 'unavailable', reason };
  return { word: 'rejected', reason };
}

/** Sends to every relay at once. One that stores it is enough; else the most hopeful of the answers decides. */
export async function sendToAll(line: Line, relays: readonly string[], event: NostrEvent, privateKey: Uint8Array): Promise<Verdict[]> {
  const verdicts = await Promise.all(
    relays.map((relay) =>
      sendTo(line, relay, event, privateKey).catch((error: unknown): Verdict => ({
        relay,
        word: 'unavailable',
        reason: error instanceof Error ? error.message : 'unknown',
      })),
    ),
  );
  if (verdicts.some(({ word }) => word === 'stored')) return verdicts;
  const said = verdicts.map(({ relay, reason }) => `${relay}: ${reason}`).join('; ');
  if (verdicts.some(({ word }) => word === 'sent')) throw refused('lost', `No relay confirmed the note (${said})`);
  if (verdicts.some(({ word }) => word === 'rate_limited')) throw refused('rate_limited', `The relays ask to wait (${said})`);
  if (verdicts.some(({ word }) => word === 'unavailable')) throw refused('unavailable', `No relay could be reached (${said})`);
  throw refused('rejected', `No relay takes the note (${said})`);
}

/** The first event that matches, and which relays have it. `unavailable` when no relay answered to the end. */
export async function ask(
  line: Line,
  relays: readonly string[],
  filter: Record<string, unknown>,
): Promise<{ event: NostrEvent; relays: string[] } | undefined> {
  const answers = await Promise.all(
    relays.map((relay) =>
      withRelay(line, relay, async (socket, signal) => {
        const found: NostrEvent[] = [];
        socket.send(JSON.stringify(['REQ', 'q', filter]));
        for (;;) {
          const message = await hear(socket, signal);
          if (!message) return { relay, found, whole: false };
          if (message[0] === 'EVENT') found.push(message[2]);
          if (message[0] === 'EOSE') return { relay, found, whole: true };
          if (message[0] === 'CLOSED') return { relay, found, whole: false };
        }
      }).catch(() => ({ relay, found: [] as NostrEvent[], whole: false })),
    ),
  );
  const newest = answers.flatMap(({ found }) => found).toSorted((a, b) => b.created_at - a.created_at)[0];
  if (newest) return { event: newest, relays: answers.filter(({ found }) => found.some(({ id }) => id === newest.id)).map(({ relay }) => relay) };
  if (!answers.some(({ whole }) => whole)) throw refused('unavailable', 'No relay answered');
  return undefined;
}
