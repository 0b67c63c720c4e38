import { messageYjsSyncStep1, messageYjsSyncStep2, messageYjsUpdate } from 'y-protocols/sync';

// The frames of y-websocket (S205): numbers of variable length, and bytes with their length in front.

/** The first number of a frame. */
export const SYNC = 0;
export const AWARENESS = 1;
const AUTH = 2;
export const QUERY_AWARENESS = 3;
/** The second number of a frame `AUTH`: permission denied. */
const DENIED = 0;

export const STEP1 = messageYjsSyncStep1;
export const STEP2 = messageYjsSyncStep2;
export const UPDATE = messageYjsUpdate;

/** A frame that y-websocket does not send. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** Reads a frame from its beginning; every length is held against what is there. */
export class FrameReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new Malformed('ends within a number');
      value += (byte & 127) * factor;
      if (byte < 128) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
    }
    throw new Malformed('a number is too large');
  }

  /** A copy with memory of its own. */
  bytes(): Uint8Array {
    const length = this.number();
    if (length > this.#bytes.length - this.#at) throw new Malformed('ends within bytes');
    return this.#bytes.slice(this.#at, (this.#at += length));
  }

  text(): string {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes());
    } catch (error) {
      throw error instanceof Malformed ? error : new Malformed('a text is not UTF-8');
    }
  }
}

const numberBytes = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return bytes;
};
/** Bytes with their length in front. */
export const withLength = (bytes: Uint8Array): Uint8Array[] => [Uint8Array.from(numberBytes(bytes.length)), bytes];
const frame = (...parts: (number | Uint8Array)[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Uint8Array.from(numberBytes(part)) : part)));

export const step1Frame = (vector: Uint8Array): Uint8Array => frame(SYNC, STEP1, ...withLength(vector));
export const step2Frame = (update: Uint8Array): Uint8Array => frame(SYNC, STEP2, ...withLength(update));
export const updateFrame = (update: Uint8Array): Uint8Array => frame(SYNC, UPDATE, ...withLength(update));
export const deniedFrame = (reason: string): Uint8Array => frame(AUTH, DENIED, ...withLength(Buffer.from(reason)));
export const awarenessFrame = (update: Uint8Array): Uint8Array => frame(AWARENESS, ...withLength(update));

/** What one client says of itself; `state` null: it is gone. */
export interface AwarenessEntry {
  client: number;
  clock: number;
  /** JSON. */
  state: string;
}
export const awarenessUpdate = (entries: readonly AwarenessEntry[]): Uint8Array =>
  frame(
    entries.length,
    ...entries.flatMap(({ client, clock, state }) => [client, clock, ...withLength(Buffer.from(state))]),
  );

/** Awareness entries of one update at most. */
const MOST_ENTRIES = 1_000;

/** An entry as it came: most are repeated by clients that have heard them, and nobody reads their state. */
export interface UnreadEntry extends Pick<AwarenessEntry, 'client' | 'clock'> {
  state: Uint8Array;
}
/** The state of an entry; throws for what is no JSON. */
export function readState({ state }: UnreadEntry): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(state);
    JSON.parse(text);
    return text;
  } catch {
    throw new Malformed('an awareness state is not JSON');
  }
}

/** The entries of an awareness update; throws for what is none. */
export function readAwareness(update: Uint8Array): UnreadEntry[] {
  const reader = new FrameReader(update);
  const count = reader.number();
  if (count > MOST_ENTRIES) throw new Malformed('too many awareness states');
  return Array.from({ length: count }, () => ({
    client: reader.number(),
    clock: reader.number(),
    state: reader.bytes(),
  }));
}
