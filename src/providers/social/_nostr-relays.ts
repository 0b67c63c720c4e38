import { refused } from '../kit/declare/fallback.ts';
import { type NostrEvent, signEvent } from '../kit/protocols/nostr.ts';
import { messagesOf, type RelayLine, shareOf, withRelay } from './_nostr-sockets.ts';

/** A relay's answer to an event. `sent`: it may have the event, and did not say so. */
export type Verdict = {
  relay: string;
  word: 'stored' | 'rate_limited' | 'rejected' | 'unavailable' | 'sent';
  reason: string;
};

/** Sends a signed event to one relay; logs in (NIP-42) when the relay asks for it. */
function sendTo(
  line: RelayLine,
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

/**
 * Sends to all relays at once. One that stores the event is enough; else the best of the answers decides. `deciding`:
 * only the answers of these count.
 */
export async function sendToAll(
  line: RelayLine,
  relays: readonly string[],
  event: NostrEvent,
  privateKey: Uint8Array,
  deciding: readonly string[] = relays,
): Promise<Verdict[]> {
  const all = await Promise.all(
    relays.map((relay) =>
      sendTo(line, relay, relays.length, event, privateKey).catch((error: unknown): Verdict => ({
        relay,
        word: 'unavailable',
        reason: error instanceof Error ? error.message : 'unknown',
      })),
    ),
  );
  const verdicts = all.filter(({ relay }) => deciding.includes(relay));
  if (verdicts.some(({ word }) => word === 'stored')) return verdicts;
  const said = verdicts.map(({ relay, reason }) => `${relay}: ${reason}`).join('; ');
  if (verdicts.some(({ word }) => word === 'sent')) throw refused('lost', `No relay confirmed the note (${said})`);
  if (verdicts.some(({ word }) => word === 'rate_limited'))
    throw refused('rate_limited', `The relays ask to wait (${said})`);
  if (verdicts.some(({ word }) => word === 'unavailable'))
    throw refused('unavailable', `No relay could be reached (${said})`);
  throw refused('rejected', `No relay takes the note (${said})`);
}
