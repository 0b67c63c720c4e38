import { schnorr } from '@noble/curves/secp256k1.js';
import { bech32, hex } from '@scure/base';
import { z } from 'zod';
import { sha256 } from '../../../platform/kernel/index.ts';

/** A signed event (NIP-01). `created_at` is in seconds. */
export const NostrEvent = z.object({
  id: z.string().regex(/^[0-9a-f]{64}$/),
  pubkey: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: z.int(),
  kind: z.int(),
  tags: z.array(z.array(z.string())),
  content: z.string(),
  sig: z.string().regex(/^[0-9a-f]{128}$/),
});
export type NostrEvent = z.output<typeof NostrEvent>;
export type Draft = Pick<NostrEvent, 'created_at' | 'kind' | 'tags' | 'content'>;

/** Reads a private key of 64 hexadecimal characters or `nsec1…` (NIP-19); undefined when it is neither. */
export function readPrivateKey(text: string): Uint8Array | undefined {
  const key = text.trim();
  try {
    const bytes = /^[0-9a-f]{64}$/i.test(key) ? hex.decode(key.toLowerCase()) : decodeEntity('nsec', key);
    if (bytes) schnorr.getPublicKey(bytes); // throws for a number outside the curve order
    return bytes;
  } catch {
    return undefined;
  }
}

function decodeEntity(prefix: string, text: string): Uint8Array | undefined {
  const decoded = bech32.decodeUnsafe(text.toLowerCase(), 200);
  const bytes = decoded?.prefix === prefix ? bech32.fromWordsUnsafe(decoded.words) : undefined;
  return bytes instanceof Uint8Array && bytes.length === 32 ? bytes : undefined;
}

export const publicKeyOf = (privateKey: Uint8Array): string => hex.encode(schnorr.getPublicKey(privateKey));
export const encodeNpub = (publicKey: string): string =>
  bech32.encode('npub', bech32.toWords(hex.decode(publicKey)), 200);
/** Reads the public key of an `npub1…`, as hexadecimal characters. */
export function decodeNpub(npub: string): string | undefined {
  const bytes = decodeEntity('npub', npub);
  return bytes && hex.encode(bytes);
}

const entry = (type: number, value: Uint8Array): number[] => [type, value.length, ...value];

/** Writes a `nevent1…` with the event's id and the relays that have it (NIP-19): entries of type, length and value. */
export function encodeNevent(id: string, relays: readonly string[]): string {
  const known = relays.map((url) => new TextEncoder().encode(url)).filter(({ length }) => length < 256);
  const bytes = [...entry(0, hex.decode(id)), ...known.flatMap((url) => entry(1, url))];
  return bech32.encode('nevent', bech32.toWords(Uint8Array.from(bytes)), 5_000);
}

/** The SHA-256 of the canonical form, so that the same draft always is the same event. */
const hashOf = ({ pubkey, created_at, kind, tags, content }: Draft & Pick<NostrEvent, 'pubkey'>): Uint8Array =>
  sha256(JSON.stringify([0, pubkey, created_at, kind, tags, content]));

export function signEvent(draft: Draft, privateKey: Uint8Array): NostrEvent {
  const pubkey = publicKeyOf(privateKey);
  const id = hashOf({ ...draft, pubkey });
  return { ...draft, pubkey, id: hex.encode(id), sig: hex.encode(schnorr.sign(id, privateKey)) };
}

/** Whether an event is what its id says, which costs little. Its author is known by `isSignedByAuthor` alone. */
export const hasOwnId = (event: NostrEvent): boolean => hex.encode(hashOf(event)) === event.id;
/** Whether the author of an event has signed its id: about a millisecond of work. */
export const isSignedByAuthor = ({ id, pubkey, sig }: NostrEvent): boolean =>
  schnorr.verify(hex.decode(sig), hex.decode(id), hex.decode(pubkey));
