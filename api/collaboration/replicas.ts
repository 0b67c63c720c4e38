import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type ByteChannels, byteChannels } from '../../src/platform/cache/index.ts';
import { startLoop } from '../../src/platform/flow/index.ts';
import type { Clock } from '../../src/platform/kernel/index.ts';
import { PostAuthor } from '../../src/publishing/posts/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import type { DocumentKey, Typist } from '../../src/studio/collaboration/index.ts';
import { FrameReader, withLength } from './frames.ts';
import type { LiveRoom, Peers } from './live-room.ts';

// The same room in several processes. Messages may be lost, doubled or reordered: state vectors are compared when a room
// is opened, when Redis comes back, and while it changes.

/**
 * What a message is; the first byte behind the sender. `update` is understood only: a release that sends it does not say
 * who has typed it. That one hears no `typed` and finds what it holds in the database, as without Redis.
 */
const KIND = { update: 1, awareness: 2, vector: 3, hello: 4, typed: 5, saved: 6 } as const;
const SENDER_BYTES = 8;
/** Milliseconds between two comparisons of a room that changes. */
const COMPARE_MS = 5_000;

interface Options {
  url: string;
  clock: Clock;
  log: Log;
}
interface Entered {
  live: LiveRoom;
  subscription: AsyncDisposable;
  hasChanged: boolean;
}

const maybeText = z.string().nullable();
const SavedNote = z.object({
  version: z.number(),
  from: maybeText,
  to: maybeText,
  status: z.object({
    savedVersion: maybeText,
    savedAt: maybeText,
    problem: z.object({ code: z.string(), message: z.string() }).nullable(),
  }),
});

/** Who has typed an update; undefined: nobody, it is saved or of the server. What another release says is not known. */
function readTypist(text: string): Typist | undefined {
  try {
    return PostAuthor.nullable().parse(JSON.parse(text)) ?? undefined;
  } catch {
    return 'unknown';
  }
}

/** Exchanges updates and awareness of open rooms with other processes over Redis. */
export async function openReplicas({ url, clock, log }: Options) {
  const sender = randomBytes(SENDER_BYTES);
  const entered = new Map<string, Entered>();
  const nameOf = ({ orgId, room }: DocumentKey) => `collaboration:${orgId}:${room}`;
  const channels: ByteChannels = await byteChannels({
    url,
    clock,
    onBack: () => {
      for (const [name, { live }] of entered) send(name, KIND.hello, live.document.vector);
    },
    onHandlerError: (error) => log.warn({ err: error }, 'a message of another process was not understood'),
  });
  const send = (name: string, kind: number, payload: Uint8Array) =>
    channels.publish(name, Buffer.concat([sender, Uint8Array.of(kind), payload]));

  const sendAwareness = (name: string, person: string, update: Uint8Array) =>
    send(name, KIND.awareness, Buffer.concat([...withLength(Buffer.from(person)), ...withLength(update)]));

  const sendUpdate = (name: string, update: Uint8Array, by: Typist | undefined) =>
    send(
      name,
      KIND.typed,
      Buffer.concat([...withLength(Buffer.from(JSON.stringify(by ?? null))), ...withLength(update)]),
    );

  function hear(name: string, message: Uint8Array): void {
    if (sender.equals(message.subarray(0, SENDER_BYTES))) return;
    const own = entered.get(name);
    if (!own) return;
    const { live } = own;
    const payload = message.slice(SENDER_BYTES + 1);
    switch (message[SENDER_BYTES] ?? 0) {
      case KIND.update:
        own.hasChanged = true;
        return live.receiveUpdate(payload, 'unknown');
      case KIND.typed: {
        own.hasChanged = true;
        const reader = new FrameReader(payload);
        const by = readTypist(reader.text());
        return live.receiveUpdate(reader.bytes(), by);
      }
      case KIND.awareness: {
        const reader = new FrameReader(payload);
        return live.receiveAwareness(reader.text(), reader.bytes());
      }
      case KIND.saved:
        return live.receiveSaved(SavedNote.parse(JSON.parse(Buffer.from(payload).toString())));
      case KIND.hello:
        for (const { person, update } of live.ownAwareness()) sendAwareness(name, person, update);
        sendUpdate(name, live.document.missing(payload), live.document.unsavedBy);
        return send(name, KIND.vector, live.document.vector);
      case KIND.vector:
        sendUpdate(name, live.document.missing(payload), live.document.unsavedBy);
        if (live.document.lacks(payload)) send(name, KIND.vector, live.document.vector);
        return undefined;
      default: // of a newer release
        return undefined;
    }
  }

  const comparing = startLoop({
    clock,
    restMs: COMPARE_MS,
    firstRestMs: COMPARE_MS,
    onError: (error) => void log.warn({ err: error }, 'open rooms could not be compared'),
    async round() {
      for (const [name, one] of entered) {
        if (!one.hasChanged) continue;
        one.hasChanged = !channels.isThere; // compared again when it is heard
        send(name, KIND.vector, one.live.document.vector);
      }
    },
  });

  return {
    peersOf(key: DocumentKey): Peers {
      const name = nameOf(key);
      return {
        update(update, by) {
          const one = entered.get(name);
          if (one) one.hasChanged = true;
          sendUpdate(name, update, by);
        },
        awareness: (person, update) => sendAwareness(name, person, update),
        saved: (saved) => send(name, KIND.saved, Buffer.from(JSON.stringify(saved))),
      };
    },
    async enter(key: DocumentKey, live: LiveRoom): Promise<void> {
      const name = nameOf(key);
      const subscription = await channels.subscribe(name, (message) => hear(name, message));
      entered.set(name, { live, subscription, hasChanged: false });
      send(name, KIND.hello, live.document.vector);
    },
    async leave(key: DocumentKey): Promise<void> {
      const name = nameOf(key);
      const one = entered.get(name);
      entered.delete(name);
      await one?.subscription[Symbol.asyncDispose]();
    },
    async [Symbol.asyncDispose]() {
      await comparing[Symbol.asyncDispose]();
      await channels[Symbol.asyncDispose]();
    },
  };
}
export type Replicas = Awaited<ReturnType<typeof openReplicas>>;
